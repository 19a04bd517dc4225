"""The page docs/validation/claims.md, which collects the claims of all studies."""
