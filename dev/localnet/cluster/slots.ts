/** Where slots began to be counted anew: everything until the next anchor follows from it. */
export interface Anchor {
  readonly slot: number;
  /** Block height of that slot: one less for every slot before it that has no block. */
  readonly height: number;
  /** Slots without a block right before it. */
  readonly skipped: number;
  /** Unix ms at which that slot began. */
  readonly at: number;
  readonly slotMs: number;
  readonly paused: boolean;
  /** What is added to the real time, ms. */
  readonly offset: number;
}

/**
 * Slots, heights and times. Nothing runs: the slot is what the clock says when somebody asks, so idle slots cost nothing.
 * What happened to the clock is a list of anchors, each handed to `keep`.
 */
export class SlotClock {
  readonly #anchors: Anchor[];
  readonly #keep: (anchor: Anchor) => void;
  #newest = 0;

  constructor(anchors: readonly Anchor[], keep: (anchor: Anchor) => void) {
    this.#anchors = [...anchors];
    this.#keep = keep;
  }

  get anchors(): readonly Anchor[] {
    return this.#anchors;
  }

  get offset(): number {
    return this.#last().offset;
  }

  get paused(): boolean {
    return this.#last().paused;
  }

  get slotMs(): number {
    return this.#last().slotMs;
  }

  /** The slot of now; it never goes back, whatever the system's clock does. */
  get slot(): number {
    const { slot, at, slotMs, paused } = this.#last();
    const now = paused ? slot : slot + Math.max(0, Math.floor((Date.now() - at) / slotMs));
    this.#newest = Math.max(this.#newest, now);
    return this.#newest;
  }

  /** Unix ms on the cluster. */
  get now(): number {
    return Date.now() + this.offset;
  }

  /** Whether a slot has a block (or will have). */
  hasBlock(slot: number): boolean {
    const next = this.#anchors[this.#indexOf(slot) + 1];
    return slot >= 0 && (next === undefined || slot < next.slot - next.skipped);
  }

  /** Block height at a slot: that of its block, or of the last one before it. */
  height(slot: number): number {
    const index = this.#indexOf(slot);
    const anchor = this.#anchor(index);
    const next = this.#anchors[index + 1];
    const last = next ? next.slot - next.skipped - 1 : slot;
    return anchor.height + Math.min(slot, last) - anchor.slot;
  }

  /** The slot whose block has a height. */
  slotAtHeight(height: number): number {
    let index = this.#anchors.length - 1;
    while (index > 0 && this.#anchor(index).height > height) index--;
    const anchor = this.#anchor(index);
    return anchor.slot + height - anchor.height;
  }

  /** The last slot with a block, at or before `slot`. */
  lastBlock(slot: number): number {
    return this.hasBlock(slot) ? slot : this.slotAtHeight(this.height(slot));
  }

  /** When a slot began, unix seconds on the cluster. */
  unixSeconds(slot: number): number {
    const index = this.#indexOf(slot);
    const anchor = this.#anchor(index);
    const next = this.#anchors[index + 1];
    const began = anchor.at + (anchor.paused ? 0 : (slot - anchor.slot) * anchor.slotMs);
    return Math.floor((Math.min(began, next?.at ?? began) + anchor.offset) / 1000);
  }

  /** Goes on `count` slots at once, with a block each. */
  advance(count: number): void {
    this.#turn({ slots: count, skipped: 0 });
  }

  /** The next `count` slots have no block, and are over. */
  skip(count: number): void {
    this.#turn({ slots: count + 1, skipped: count });
  }

  pause(): void {
    this.#turn({ slots: 0, skipped: 0 }, { paused: true });
  }

  resume(): void {
    this.#turn({ slots: 0, skipped: 0 }, { paused: false });
  }

  setOffset(offset: number): void {
    // In a slot of its own: a slot has one time.
    this.#turn({ slots: 1, skipped: 0 }, { offset });
  }

  setSlotMs(slotMs: number): void {
    this.#turn({ slots: 0, skipped: 0 }, { slotMs });
  }

  #turn({ slots, skipped }: { slots: number; skipped: number }, changed: Partial<Pick<Anchor, 'paused' | 'offset' | 'slotMs'>> = {}): void {
    const now = this.slot;
    const last = this.#last();
    // What has passed of a slot counts, unless the clock stood still.
    const at = last.paused || slots > 0 ? Date.now() : last.at + (now - last.slot) * last.slotMs;
    const anchor: Anchor = { ...last, ...changed, slot: now + slots, height: this.height(now) + slots - skipped, skipped, at };
    this.#anchors.push(anchor);
    this.#keep(anchor);
  }

  #last(): Anchor {
    return this.#anchor(this.#anchors.length - 1);
  }

  #anchor(index: number): Anchor {
    const anchor = this.#anchors[index];
    if (!anchor) throw new Error('a slot clock needs an anchor');
    return anchor;
  }

  #indexOf(slot: number): number {
    let index = this.#anchors.length - 1;
    while (index > 0 && this.#anchor(index).slot > slot) index--;
    return index;
  }
}
