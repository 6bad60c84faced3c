// The two ways in which a request gets no reply. Callers of a Limiter see neither.

/** No reply. causes.js has the values of `cause`. */
export class Lost extends Error {
  constructor(cause, text = "") {
    super(text);
    this.cause = cause;
  }
}

/** An error of the server, with its whole text. */
export class Refused extends Error {
  /** @param isLogin whether it was the answer to AUTH */
  constructor(text, isLogin = false) {
    super(text);
    this.isLogin = isLogin;
  }
}
