// A client of weir, the rate-limit server.
//
//     import { Limiter } from "weir-client";
//
//     const limiter = new Limiter("redis://app:secret@weir.internal:7379");
//     const decision = await limiter.allow("user:42", "10/s", "1000/h");
export { Limited, Mistake, Unavailable } from "./lib/errors.js";
export { fields, problem } from "./lib/fields.js";
export { Limiter } from "./lib/limiter.js";
