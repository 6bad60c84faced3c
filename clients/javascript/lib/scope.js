/**
 * The name of the method that the end of an `await using` scope calls. Node 18 has none before
 * 18.18; then there are no such scopes, either.
 */
export const END_OF_SCOPE = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");
