/**
 * The verdict about a round.
 * - `true`: every check holds.
 * - `false`: a check fails, so the house broke the protocol or lied.
 * - `cannot be checked`: a source is missing, or the round has no result yet.
 * - `late or unpaid`: the result is true, but a deadline passed or a prize is not paid.
 */
export type Verdict = 'true' | 'false' | 'cannot be checked' | 'late or unpaid';

/** The exit code of a command that reports a verdict. */
export const EXIT_CODES: Readonly<Record<Verdict, number>> = { true: 0, false: 1, 'cannot be checked': 2, 'late or unpaid': 3 };

/** A check and its outcome, with one sentence for people. `check` is a stable name. */
export interface Step {
  readonly check: string;
  readonly outcome: 'true' | 'false' | 'unknown' | 'late';
  readonly detail: string;
}

/** Called with each step of a verification when its check ends. A program can show the step before the verification ends. */
export type OnStep = (step: Step) => void;

/** Thrown when a check fails and ends the verification. */
export class Lie extends Error {
  readonly check: string;
  constructor(check: string, message: string) {
    super(message);
    this.check = check;
  }
}

/** Thrown when a check is impossible and the following checks need its value. */
export class Unknown extends Error {
  readonly check: string;
  constructor(check: string, message: string) {
    super(message);
    this.check = check;
  }
}

/** Collects the steps of a verification and the values that it took on the house's word. */
export class Report {
  readonly steps: Step[] = [];
  readonly onTheHousesWord: string[] = [];
  readonly #onStep: OnStep | undefined;

  constructor(onStep?: OnStep) {
    this.#onStep = onStep;
  }

  holds(check: string, detail: string): void {
    this.#add({ check, outcome: 'true', detail });
  }
  unknown(check: string, detail: string): void {
    this.#add({ check, outcome: 'unknown', detail });
  }
  late(check: string, detail: string): void {
    this.#add({ check, outcome: 'late', detail });
  }
  word(value: string): void {
    this.onTheHousesWord.push(value);
  }

  /** Records the error that ended the verification. @throws any other error */
  ended(error: unknown): void {
    if (error instanceof Lie) this.#add({ check: error.check, outcome: 'false', detail: error.message });
    else if (error instanceof Unknown) this.unknown(error.check, error.message);
    else throw error;
  }

  #add(step: Step): void {
    this.steps.push(step);
    this.#onStep?.(step);
  }

  get verdict(): Verdict {
    const has = (outcome: Step['outcome']) => this.steps.some((step) => step.outcome === outcome);
    if (has('false')) return 'false';
    if (has('unknown')) return 'cannot be checked';
    return has('late') ? 'late or unpaid' : 'true';
  }
}

/** Ends the verification with a lie when there is a mismatch. */
export function demand(check: string, mismatch: { readonly where: string; readonly reason: string } | null): void {
  if (mismatch !== null) throw new Lie(check, `${mismatch.where} ${mismatch.reason}`);
}
