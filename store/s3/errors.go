package s3

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/lakeweir/lakeweir/store/internal/wire"
)

// failure takes an error of the SDK apart. An answer that the SDK cannot read,
// such as a 304, has a status but no code.
func failure(err error) wire.Failure {
	f := wire.Failure{Err: err}
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) && answer.Response != nil && answer.HTTPStatusCode() >= 300 {
		f.Status = answer.HTTPStatusCode()
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		f.Code, f.Message = api.ErrorCode(), api.ErrorMessage()
	}
	return f
}

// explain turns an error of the SDK into one of store, or into a line that
// tells the operator what to do.
func (s *Store) explain(ctx, call context.Context, c wire.Call, err error) error {
	f := failure(err)
	if cache, ok := s.client.Options().Credentials.(*aws.CredentialsCache); ok && f.Expired() {
		cache.Invalidate() // the next try gets new ones, before the time that they were to last
	}
	if f.Status == 0 && call.Err() == nil {
		// The SDK reports credentials that it cannot find among other failures
		// to send. What it has found it keeps, so asking again costs nothing.
		if _, err := s.client.Options().Credentials.Retrieve(call); err != nil && call.Err() == nil {
			return s.place.NoCredentials(c, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or run with a role")
		}
	}
	return s.place.Explain(ctx, call, c, f)
}
