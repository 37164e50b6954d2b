/** A change of the slot clock. The slots from this anchor up to the next anchor are computed from the values of this anchor. */
export interface Anchor {
  readonly slot: number;
  /** Block height at `slot`. Slots without a block are not counted. */
  readonly height: number;
  /** Number of slots without a block directly before `slot`. */
  readonly skipped: number;
  /** Start of `slot` by the system time, unix ms. */
  readonly at: number;
  readonly slotMs: number;
  readonly paused: boolean;
  /** Time of the cluster minus the system time, ms. */
  readonly offset: number;
}

/**
 * Computes slots, block heights and block times from the system time and a list of anchors. No timer runs, so an idle cluster uses no CPU. `onAnchor`
 * stores each new anchor.
 */
export class SlotClock {
  readonly #anchors: Anchor[];
  readonly #onAnchor: (anchor: Anchor) => void;
  #newest = 0;

  constructor(anchors: readonly Anchor[], onAnchor: (anchor: Anchor) => void) {
    this.#anchors = [...anchors];
    this.#onAnchor = onAnchor;
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

  /** The current slot. It never decreases, even if the system time goes back. */
  get slot(): number {
    const { slot, at, slotMs, paused } = this.#last();
    const now = paused ? slot : slot + Math.max(0, Math.floor((Date.now() - at) / slotMs));
    this.#newest = Math.max(this.#newest, now);
    return this.#newest;
  }

  /** Time of the cluster, unix ms. */
  get now(): number {
    return Date.now() + this.offset;
  }

  /** Returns whether a slot has a block. Returns true for a future slot. */
  hasBlock(slot: number): boolean {
    const next = this.#anchors[this.#indexOf(slot) + 1];
    return slot >= 0 && (next === undefined || slot < next.slot - next.skipped);
  }

  /** Returns the height of the last block at or before a slot. */
  height(slot: number): number {
    const index = this.#indexOf(slot);
    const anchor = this.#anchor(index);
    const next = this.#anchors[index + 1];
    const last = next ? next.slot - next.skipped - 1 : slot;
    return anchor.height + Math.min(slot, last) - anchor.slot;
  }

  /** Returns the slot of the block that has this height. */
  slotAtHeight(height: number): number {
    let index = this.#anchors.length - 1;
    while (index > 0 && this.#anchor(index).height > height) index--;
    const anchor = this.#anchor(index);
    return anchor.slot + height - anchor.height;
  }

  /** Returns the last slot with a block at or before `slot`. */
  lastBlock(slot: number): number {
    return this.hasBlock(slot) ? slot : this.slotAtHeight(this.height(slot));
  }

  /** Returns the start of a slot, measured by the time of the cluster, unix seconds. */
  unixSeconds(slot: number): number {
    const index = this.#indexOf(slot);
    const anchor = this.#anchor(index);
    const next = this.#anchors[index + 1];
    const began = anchor.at + (anchor.paused ? 0 : (slot - anchor.slot) * anchor.slotMs);
    return Math.floor((Math.min(began, next?.at ?? began) + anchor.offset) / 1000);
  }

  /** Advances by `count` slots at once, each with a block. */
  advance(count: number): void {
    this.#turn({ slots: count, skipped: 0 });
  }

  /** Advances past the next `count` slots, which have no block. */
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
    // A new offset changes the block time, and all transactions of a slot have the same block time. So a new slot begins.
    this.#turn({ slots: 1, skipped: 0 }, { offset });
  }

  setSlotMs(slotMs: number): void {
    this.#turn({ slots: 0, skipped: 0 }, { slotMs });
  }

  #turn({ slots, skipped }: { slots: number; skipped: number }, changed: Partial<Pick<Anchor, 'paused' | 'offset' | 'slotMs'>> = {}): void {
    const now = this.slot;
    const last = this.#last();
    // If a pause ends or slots are added, the slot of the new anchor starts at this moment. Otherwise the current slot continues and keeps its start.
    const at = last.paused || slots > 0 ? Date.now() : last.at + (now - last.slot) * last.slotMs;
    const anchor: Anchor = { ...last, ...changed, slot: now + slots, height: this.height(now) + slots - skipped, skipped, at };
    this.#anchors.push(anchor);
    this.#onAnchor(anchor);
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
