/** Maximum numbers of places: places that run, and all places in flight, which also counts places that have not started yet. */
export interface PlaceBounds {
  readonly running: number;
  readonly inFlight: number;
}

/** The bound because of which a queue refuses a place: the bound of its caller, or the bound of all callers together. */
export type RefusedBy = 'caller' | 'total';

/** Thrown when a queue refuses a place that waits. */
export class PlaceRefused extends Error {
  readonly by: RefusedBy;

  constructor(by: RefusedBy) {
    super(by === 'caller' ? 'the caller has too many places in the queue' : 'the queue is full');
    this.name = 'PlaceRefused';
    this.by = by;
  }
}

/** The places of one caller. */
interface Lane {
  readonly caller: string;
  readonly bounds: PlaceBounds;
  running: number;
  inFlight: number;
  /** The places that wait, the oldest first. */
  readonly waiting: Set<Place>;
}

/** A place in a queue. Only the queue reads and changes its fields. */
export interface Place {
  readonly lane: Lane;
  state: 'entered' | 'waiting' | 'running' | 'left';
  /** Ends the wait of the place: starts the place, or refuses it. Null unless the place waits. */
  settle: ((refusedBy: RefusedBy | null) => void) | null;
}

/**
 * Bounds the work of each caller and of all callers together. A place enters the queue, starts when the bounds allow it, and leaves. The callers of
 * places that wait take turns, so a caller with many places delays a caller with one place by at most one turn.
 */
export class FairQueue {
  readonly #bounds: PlaceBounds;
  readonly #waitMs: number;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes with a waiting place that the bounds of their caller allow to start. The first lane has the next turn. */
  readonly #ready = new Set<Lane>();
  #running = 0;
  #inFlight = 0;

  /**
   * @param bounds the bounds of all callers together
   * @param waitMs the maximum time for which a place waits, ms
   */
  constructor(bounds: PlaceBounds, waitMs: number) {
    this.#bounds = bounds;
    this.#waitMs = waitMs;
  }

  /** Number of places in flight. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Takes a place for a caller. When all callers together have too many places in flight, the queue refuses the newest waiting place of the caller
   * with the most waiting places instead, if this caller has more of them than `caller` has places.
   * @param bounds the bounds of this caller
   * @returns the place, or the bound because of which the queue refuses it
   */
  enter(caller: string, bounds: PlaceBounds): Place | RefusedBy {
    let lane = this.#lanes.get(caller);
    if (lane !== undefined && lane.inFlight >= bounds.inFlight) return 'caller';
    if (this.#inFlight >= this.#bounds.inFlight && !this.#refuseLongest(lane?.inFlight ?? 0)) return 'total';
    if (lane === undefined) {
      lane = { caller, bounds, running: 0, inFlight: 0, waiting: new Set() };
      this.#lanes.set(caller, lane);
    }
    lane.inFlight++;
    this.#inFlight++;
    return { lane, state: 'entered', settle: null };
  }

  /**
   * Starts a place.
   * @param waitMs the maximum time for which the place waits, ms; by default that of the queue
   * @returns null when the place has started; otherwise a promise that resolves when it starts
   * @throws PlaceRefused (as a rejection) when the place has waited too long, or when it made room for another caller
   */
  start(place: Place, waitMs: number = this.#waitMs): Promise<void> | null {
    const { lane } = place;
    if (this.#mayRun(lane) && this.#running < this.#bounds.running) {
      this.#run(place);
      return null;
    }
    place.state = 'waiting';
    lane.waiting.add(place);
    if (this.#mayRun(lane)) this.#ready.add(lane);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#refuse(place, lane.running >= lane.bounds.running ? 'caller' : 'total'), waitMs);
      place.settle = (refusedBy) => {
        clearTimeout(timer);
        place.settle = null;
        if (refusedBy === null) resolve();
        else reject(new PlaceRefused(refusedBy));
      };
    });
  }

  /** Gives a place back, and starts the places that may start then. Does nothing when the place has left already. */
  leave(place: Place): void {
    const { lane } = place;
    if (place.state === 'left') return;
    if (place.state === 'waiting') {
      this.#refuse(place, 'caller');
      return;
    }
    if (place.state === 'running') {
      this.#running--;
      lane.running--;
      if (lane.waiting.size > 0) this.#ready.add(lane);
    }
    this.#remove(place);
    if (this.#ready.size > 0) this.#startNext();
  }

  #mayRun(lane: Lane): boolean {
    return lane.running < lane.bounds.running;
  }

  #run(place: Place): void {
    place.state = 'running';
    place.lane.running++;
    this.#running++;
  }

  #remove(place: Place): void {
    place.state = 'left';
    this.#inFlight--;
    if (--place.lane.inFlight === 0) this.#lanes.delete(place.lane.caller);
  }

  #startNext(): void {
    for (const lane of this.#ready) {
      if (this.#running >= this.#bounds.running) return;
      this.#ready.delete(lane);
      const [place] = lane.waiting;
      if (place === undefined) continue;
      lane.waiting.delete(place);
      this.#run(place);
      // A lane that is added again comes last, and this loop reaches it again.
      if (lane.waiting.size > 0 && this.#mayRun(lane)) this.#ready.add(lane);
      place.settle?.(null);
    }
  }

  #refuse(place: Place, by: RefusedBy): void {
    const { lane, settle } = place;
    lane.waiting.delete(place);
    if (lane.waiting.size === 0) this.#ready.delete(lane);
    this.#remove(place);
    settle?.(by);
  }

  /**
   * Refuses the newest waiting place of the caller with the most waiting places.
   * @returns false when no caller has more than `atLeast` waiting places
   */
  #refuseLongest(atLeast: number): boolean {
    let longest: Lane | null = null;
    for (const lane of this.#lanes.values()) if (lane.waiting.size > (longest?.waiting.size ?? atLeast)) longest = lane;
    const newest = longest === null ? undefined : [...longest.waiting].at(-1);
    if (newest !== undefined) this.#refuse(newest, 'total');
    return newest !== undefined;
  }
}
