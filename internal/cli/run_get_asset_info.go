package cli

import (
	"context"
	"errors"
)

func runAssetInfo(_ context.Context, _ session, _ invocation) (document, error) {
	return nil, errors.New("wip")
}
