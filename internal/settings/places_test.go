package settings

import (
	"strings"
	"testing"
)

// An error says in which line it is, also deep in a declaration and behind
// comments, and which key was meant.
func TestLinesOfErrors(t *testing.T) {
	f := func(want string, lines ...string) {
		t.Helper()
		_, err := load(t, strings.Join(lines, "\n")+"\n", nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	// Nested keys.
	f(`lakeweir.yaml:4: unknown key "tls.server_nam": did you mean "tls.server_name"?`, "# brokers", "tls:", "  ca: x", "  server_nam: y")
	f(`lakeweir.yaml:2: unknown key "s3.path_stile": did you mean "s3.path_style"?`, "s3:", "  path_stile: true")
	f(`lakeweir.yaml:3: unknown key "files.row_group_row": did you mean "files.row_group_rows"?`, "files:", "", "  row_group_row: 5")
	f(`lakeweir.yaml:1: unknown key "lgo": did you mean "log"?`, "lgo: {level: debug}")
	// A key that belongs to another group, or to none.
	f(`lakeweir.yaml:2: unknown key "batch.memory": did you mean "memory"?`, "batch:", "  memory: 1GiB")
	f(`lakeweir.yaml:2: unknown key "log.max_age": did you mean "batch.max_age"?`, "log:", "  max_age: 5s")
	// Dotted.
	f(`lakeweir.yaml:1: unknown key "batch.max_ages"`, "batch.max_ages: 5s")
	// A value that does not fit stands where it is, not where its key is.
	f(`lakeweir.yaml:3: batch.max_age: "5" is not a duration`, "batch:", "  max_age:", "    5")
	f(`lakeweir.yaml:4: want a list of plain values`, "brokers:", "  - a:1", "  -", "    - b:2")
	f(`lakeweir.yaml:3: want a list`, "partitions:", "  quakes:", "    a: 1")
	f(`lakeweir.yaml:2: the environment variable NOWHERE is not set`, "brokers:", "  - ${NOWHERE}:1")
	f(`lakeweir.yaml:2: start: "soon" is not earliest`, "start:", "  soon")
	// Declarations of topics and columns.
	f(`lakeweir.yaml:3: topic: unknown key "colums": did you mean "columns"?`, "topics:", "  quakes:", "    colums: []")
	column := []string{"topics:", "  quakes:", "    value: json", "    columns:", "      - name: id", "        type: string"}
	g := func(want string, more ...string) {
		t.Helper()
		f(want, append(column[:len(column):len(column)], more...)...)
	}
	g(`lakeweir.yaml:7: column: unknown key "requird": did you mean "required"?`, "        requird: true")
	g(`lakeweir.yaml:8: unknown type "doubel": did you mean "double"?`, "      - name: magnitude", "        type: doubel")
	g(`lakeweir.yaml:8: "maybe" is not true or false`, "      - name: b", "        required: maybe")
	g(`lakeweir.yaml:10: unknown type "text": it is one of`, "      - name: b", "        type: struct", "        fields:", "          - {name: c, type: text}")
	g(`lakeweir.yaml:10: column: unknown key "typ": did you mean "type"?`, "      - name: b", "        type: list", "        element:", "          typ: string")
	g(`lakeweir.yaml:9: unknown encoding "rle": it is plain, dictionary or delta`, "      - name: b", "        type: string", "        encoding: rle")
	g(`lakeweir.yaml:7: a column has no name`, "      - type: string")
	// Where two columns meet, the topic is named.
	g(`lakeweir.yaml:2: topic "quakes": column "id"`, "      - name: id", "        type: string")
	// No YAML.
	f("lakeweir.yaml: line 2: ", "group: a", "\tstore: b")
	f("lakeweir.yaml: line ", "group: \"a", "store: b")
}

// What YAML allows and a configuration cannot mean.
func TestStrangeFiles(t *testing.T) {
	f := func(yaml, want string) {
		t.Helper()
		_, err := load(t, yaml, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", yaml, err, want)
		}
	}
	// Nothing in it.
	f("# all by environment\n", "")
	f("---\n", "")
	f("---\ngroup: a\n...\n", "")
	// As editors on Windows write it.
	f("\ufeffgroup: a\r\nstore: dir:x\r\n", "")
	// A second document would not be read.
	f("group: a\n---\nstore: dir:x\n", "lakeweir.yaml:2: a second document begins")
	// A column that is its own element.
	f("topics: {a: {value: json, columns: [{name: x, type: list, element: &e {type: list, element: *e}}]}}\n", "lakeweir.yaml:1: the alias *e stands within")
	f("topics:\n  a: &a\n    value: json\n    columns: [{name: x, type: struct, fields: [{name: y, type: struct, fields: [*a]}]}]\n", "lakeweir.yaml:4: the alias *a stands within")
	// An alias that leads elsewhere is fine, also twice.
	f("group: &name lakeweir\nclient_id: *name\nmember: *name\n", "")
	// A group twice adds to it; a setting twice does not.
	f("batch: {max_rows: 1}\nbatch: {max_age: 1s}\n", "")
	f("batch: {max_rows: 1}\nbatch: {max_rows: 1}\n", "lakeweir.yaml:2: batch.max_rows is set twice")
	f("group: a\ngroup: a\n", "lakeweir.yaml:2: group is set twice")
}

// A secret is in no error and in no listing, whatever is wrong with the file
// and wherever the secret comes from.
func TestSecretsStayHidden(t *testing.T) {
	const secret = "hunter2"
	f := func(yaml string, env []string, args ...string) {
		t.Helper()
		s, err := load(t, yaml, env, args...)
		if err != nil {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q: the error %q shows it", yaml, err)
			}
			return
		}
		var out strings.Builder
		if _, err := s.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), secret) || !strings.Contains(out.String(), Hidden) {
			t.Errorf("%q: the listing shows it, or does not say that it is set", yaml)
		}
		if err := s.Check(); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: check says %v", yaml, err)
		}
		for _, st := range s.All() {
			if strings.Contains(st.Value(), secret) {
				t.Errorf("%q: %s shows it", yaml, st.Name)
			}
		}
	}
	// Where it belongs.
	for _, name := range []string{"sasl.password", "s3.secret_key"} {
		st := New().find(name)
		f(name+": "+secret+"\n", nil)
		f(name+": ${PW}\n", []string{"PW=" + secret})
		f("", []string{st.Env() + "=" + secret})
		f("", nil, "--"+st.Flag()+"="+secret)
	}
	// Where YAML takes it for something else.
	for _, bad := range []string{"*" + secret, "!" + secret, "&" + secret, "[" + secret, "{" + secret + ": x}", "%" + secret, "@" + secret, "'" + secret, "|" + secret, "a: " + secret} {
		yaml := "sasl:\n  password: " + bad + "\n"
		if _, err := load(t, yaml, nil); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: got %v", yaml, err)
		}
	}
	// In an address, where it does not belong.
	for _, bad := range []string{"http://u:" + secret + "@h/lake", "s3://u:" + secret + "@lake", "minio://u:" + secret + "@h/lake", "S3://u:" + secret + "@lake"} {
		if l, err := ParseLocation(bad); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: got %+v, %v", bad, l, err)
		}
	}
}
