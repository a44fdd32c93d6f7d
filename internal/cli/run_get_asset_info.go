package cli

import (
	"context"
	"errors"

	"sentinel/internal/answer"
)

type assetDocument struct{ answer.Header }

func runAssetInfo(_ context.Context, _ session, _ invocation) (document, error) {
	return nil, errors.New("wip")
}
