// Work that must not overlap: each piece begins when the one before has ended.

export class Turns {
  #last = Promise.resolve();

  /** Returns what the work returns. */
  run(work) {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }
}
