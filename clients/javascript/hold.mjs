// A reservation of what an action will use, as estimated, that is settled with what it did use.
//
//     const hold = await reserved(gate, 1500, 120_000, "team:7", "5,held", "100k/m,cost={}");
//     try {
//       await hold.settle(await callModel()); // frees the slot, charges 812 tokens and not 1500
//     } finally {
//       await hold.cancel();                  // if it has not been settled
//     }
//
// Each `cost={}` is the estimate's place; the other limits are charged as they stand. A cancelled
// hold gives all of it back at once; so does the end of the time to live, here 120 s, if the
// program dies. With `await using hold = ...` the end of the scope cancels.
//
// A request whose reply is lost is sent once more. It has the same id, a random one, so it is
// charged once. A Gate that fails open runs the action while weir is away; then there is no hold,
// and settle() does nothing. A denial is not kept, as a slot may be free at any time.
import { randomBytes } from "node:crypto";

import { NoAnswer, joinWithAnd, splitAtAnd } from "./limited.mjs";

const ID_BYTES = 16;
const TRIES = 2;
const PLACE = "cost={}";

// Returns a Hold of these words of RL.RESERVE, or throws Limited.
export async function reserved(gate, estimate, ms, ...words) {
  const hold = new Hold(gate, estimate, ms, words);
  await hold.reserve();
  return hold;
}

export class Hold {
  isOpen = false; // weir may have the hold, not settled
  #gate;
  #groups;
  #words;
  #hold = ["HOLD", randomBytes(ID_BYTES).toString("hex")];
  #ttl;
  #isSettled = false;
  #hasSettled = false; // has tried to

  constructor(gate, estimate, ms, words) {
    this.#gate = gate;
    this.#groups = splitAtAnd(words);
    this.#words = joinWithAnd(withCost(this.#groups, estimate, () => true));
    this.#ttl = ["TTL", String(ms)];
  }

  // Reserves, or throws Limited; without an answer, as the gate was told.
  async reserve() {
    try {
      await this.ask();
      this.isOpen = true;
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      this.#gate.noAnswer(this.#words);
    }
  }

  // Reserves, or renews the time to live of what is reserved; or throws Limited or NoAnswer.
  async ask() {
    await this.#gate.decide("RL.RESERVE", this.#words, [...this.#hold, ...this.#ttl], TRIES);
  }

  // Charges what was used in place of the estimate. Returns whether that is so. It is not if there
  // is no hold, if it has expired, or if weir does not answer; only then can it be repeated.
  async settle(used) {
    if (this.isOpen) {
      this.#hasSettled = true;
      this.#isSettled = await this.#end("RL.COMMIT", withCost(this.#groups, used));
    }
    return this.#isSettled;
  }

  // Settles; if the hold has expired, charges what was used. Returns whether it is settled. A hold
  // that expires gives back all that it reserved. So a budget that must not be undercounted wants
  // this, and one that must not be overdrawn wants settle().
  async settleOrCharge(used) {
    const wasOpen = this.isOpen;
    if (!(await this.settle(used)) && wasOpen && !this.isOpen) {
      const charge = joinWithAnd(withCost(this.#groups, used).filter((group) => group.length > 1));
      // Without an answer it may have been charged, so it is not repeated.
      if (charge.length > 0) await this.#gate.call(["RL.CHARGE", ...charge]).catch(ifNoAnswer);
    }
    return this.#isSettled;
  }

  // Gives all of it back, unless it has been settled.
  async cancel() {
    if (!this.isOpen || this.#hasSettled) return;
    const keys = this.#groups.map((group) => group.slice(0, 1));
    await this.#end("RL.CANCEL", keys).catch(() => {}); // it expires
  }

  [Symbol.asyncDispose]() {
    return this.cancel();
  }

  // Ends the hold. Returns whether weir had it.
  async #end(command, groups) {
    const words = [command, ...joinWithAnd(groups), ...this.#hold];
    const reply = await this.#gate.call(words, TRIES).catch(ifNoAnswer);
    if (reply === undefined) return false;
    this.isOpen = false;
    return reply[0] === 1;
  }
}

// The groups with the cost in its place: their keys, and those limits that are wanted.
function withCost(groups, cost, isWanted = (word) => word.includes(PLACE)) {
  return groups.map((group) => [
    ...group.slice(0, 1),
    ...group.slice(1).filter(isWanted).map((word) => word.replace(PLACE, `cost=${cost}`)),
  ]);
}

function ifNoAnswer(error) {
  if (!(error instanceof NoAnswer)) throw error;
}
