package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

const envPrefix = "LAKEWEIR_"

// configEnv names the file, as the flag --config does.
const configEnv = envPrefix + "CONFIG"

// Flags are the settings that a command takes as flags. They are read by Load,
// after the file and the environment.
type Flags struct {
	file  string
	given []*flagText
}

// flagText is a flag as it was given, to be set later.
type flagText struct {
	setting *Setting
	texts   []string
}

// String is pflag.Value: the default, for the help text.
func (f *flagText) String() string {
	if f == nil || f.setting == nil {
		return ""
	}
	return f.setting.Default
}

// Type is pflag.Value.
func (f *flagText) Type() string { return f.setting.Kind() }

// Set is pflag.Value. A flag given again adds to a list, and replaces anything else.
func (f *flagText) Set(t string) error {
	if f.setting.Kind() != "list" {
		f.texts = nil
	}
	f.texts = append(f.texts, t)
	return nil
}

// Bind adds --config and the flags of all settings in the groups to fs.
func (f *Flags) Bind(fs *pflag.FlagSet, groups ...Group) {
	fs.SetNormalizeFunc(normalize)
	fs.SortFlags = false // settings that belong together stay together
	fs.StringVarP(&f.file, "config", "c", "", "YAML file with settings; also as "+configEnv)
	for _, st := range New().all {
		if !slices.Contains(groups, st.Group) {
			continue
		}
		ft := &flagText{setting: st}
		f.given = append(f.given, ft)
		flag := fs.VarPF(ft, st.Flag(), "", st.Doc)
		if st.Kind() == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
}

// normalize lets a flag be written as its setting is called elsewhere.
func normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "topic" {
		name = "topics"
	}
	return pflag.NormalizedName(strings.NewReplacer(".", "-", "_", "-").Replace(name))
}

// Load reads the file that the flags or the environment name, if any, then the
// environment, then the flags. Every error is one of usage: it says where and
// what to write instead. What commands need beyond that they check themselves.
func Load(f *Flags, environ []string) (*Settings, error) {
	s, env := New(), map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	path := f.file
	if path == "" {
		path = env[configEnv]
	}
	if path != "" {
		lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
		if err := s.loadFile(path, lookup); err != nil {
			return nil, err
		}
	}
	if err := s.loadEnv(env); err != nil {
		return nil, err
	}
	for _, ft := range f.given {
		if ft.texts == nil {
			continue
		}
		st := s.find(ft.setting.Name)
		st.Origin = "--" + st.Flag()
		if err := st.value.set(strings.Join(ft.texts, ",")); err != nil {
			return nil, fmt.Errorf("--%s: %w", st.Flag(), hide(st, err))
		}
	}
	return s, nil
}

// loadEnv sets what the environment says. A variable that is nearly the name
// of a setting is an error; others are not ours: Kubernetes sets LAKEWEIR_PORT
// for a service of our name, for example.
func (s *Settings) loadEnv(env map[string]string) error {
	names := map[string]*Setting{}
	var all []string
	for _, st := range s.all {
		names[st.Env()] = st
		all = append(all, strings.TrimPrefix(st.Env(), envPrefix))
	}
	for _, name := range sortedKeys(env) {
		rest, ours := strings.CutPrefix(name, envPrefix)
		if !ours || name == configEnv {
			continue
		}
		st, ok := names[name]
		if !ok {
			if near := Nearest(rest, all); near != "" && distance(rest, near) <= 2 {
				return fmt.Errorf("environment variable %s is not known: did you mean %s%s?", name, envPrefix, near)
			}
			continue
		}
		st.Origin = name
		if err := st.value.set(env[name]); err != nil {
			return fmt.Errorf("%s: %w", name, hide(st, err))
		}
	}
	return nil
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
