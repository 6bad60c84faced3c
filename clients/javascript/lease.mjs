// A slot that is held while a job runs, by a heartbeat, and is free soon after the worker dies.
//
//     const slot = await lease(gate, 30_000, "printer", "1,held"); // or throws Limited
//     try {
//       for (const page of pages) {
//         if (slot.lost) break;        // another worker may have the slot
//         await printPage(page);
//       }
//     } finally {
//       await slot.release();
//     }
//
// A timer renews the lease at a third of its time to live, here 30 s. If weir has forgotten it, or
// does not answer for the whole of that time, the lease is lost, and is not taken again. `lost`
// goes by the clock, so it is in time even if the heartbeat is late. release() frees the slot;
// other limits, such as a rate, stay charged. With `await using slot = ...` the end of the scope
// does so.
//
// A Gate that fails open runs the job while weir is away; then there is no lease that could be
// lost.
import { Hold } from "./hold.mjs";
import { NoAnswer } from "./limited.mjs";

const HEARTBEATS = 3; // in a time to live

// Returns a Lease of these words of RL.RESERVE, or throws Limited.
export async function lease(gate, ms, ...words) {
  const made = new Lease(gate, ms, words);
  await made.begin();
  return made;
}

export class Lease {
  #now;
  #every;
  #ms;
  #hold;
  #request = Promise.resolve(); // the last one: each awaits the one before
  #end = Infinity; // weir keeps the hold until then at least
  #isLost = false;
  #stop; // ends the heartbeat

  constructor(gate, ms, words) {
    this.#now = gate.now;
    this.#every = gate.every ?? every;
    this.#ms = ms;
    this.#hold = new Hold(gate, 0, ms, words);
  }

  // Called by lease(), once.
  async begin() {
    const begin = this.#now();
    await this.#hold.reserve();
    if (!this.#hold.isOpen) return;
    this.#end = begin + this.#ms;
    this.#stop = this.#every(this.#ms / HEARTBEATS, () => this.#inTurn(() => this.#beat()));
  }

  // Whether weir may have given the slot to another worker.
  get lost() {
    return this.#isLost || this.#now() >= this.#end;
  }

  // Frees the slot. Returns whether it was held until now.
  release() {
    this.#stop?.();
    this.#stop = undefined;
    return this.#inTurn(async () => {
      const lost = this.lost;
      this.#end = Infinity;
      const isSettled = this.#hold.isOpen && (await this.#hold.settle(0).catch(() => false));
      return isSettled && !lost; // if weir does not answer, it expires
    });
  }

  [Symbol.asyncDispose]() {
    return this.release();
  }

  #inTurn(request) {
    this.#request = this.#request.then(request);
    return this.#request;
  }

  async #beat() {
    const now = this.#now();
    // A renewal of a hold that has ended would be a new request.
    if (this.#isLost || !this.#hold.isOpen || now >= this.#end) return;
    try {
      await this.#hold.ask();
    } catch (error) {
      if (error instanceof NoAnswer) return; // the next may be answered
      this.#isLost = true;
      this.#hold.isOpen = false;
      return;
    }
    if (this.#now() < this.#end) {
      this.#end = now + this.#ms;
    } else {
      this.#isLost = true; // it may have been a new request
      await this.#hold.cancel();
    }
  }
}

// Calls a function again and again. Returns a function that ends that.
function every(ms, call) {
  const timer = setInterval(call, ms);
  timer.unref(); // does not keep the program alive
  return () => clearInterval(timer);
}
