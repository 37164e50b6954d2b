/** Buttons of Block Cascade, as bits of an input (games/block-cascade/simulation.ts). */
export const BUTTONS = { left: 1, right: 2, rotate: 4, softDrop: 8, hardDrop: 16 } as const;
export type Button = keyof typeof BUTTONS;

/** Maximum changes that wait for a tick. */
const MAX_WAITING = 32;

/**
 * The buttons that a player holds. Each change is the input of one tick, also when several changes happen between two ticks, so that no short press is
 * lost.
 */
export class HeldButtons {
  #held = 0;
  #waiting: number[] = [];

  press(button: Button): void {
    this.#change(this.#held | BUTTONS[button]);
  }
  release(button: Button): void {
    this.#change(this.#held & ~BUTTONS[button]);
  }
  releaseAll(): void {
    this.#change(0);
  }

  /** Returns the input of the next tick. */
  next(): number {
    return this.#waiting.shift() ?? this.#held;
  }

  #change(held: number): void {
    if (held === this.#held) return;
    this.#held = held;
    if (this.#waiting.length === MAX_WAITING) this.#waiting.pop();
    this.#waiting.push(held);
  }
}
