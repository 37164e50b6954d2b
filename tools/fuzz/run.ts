import { Connection, headerOf, type Outcome, type Sending } from './connection.ts';
import { readDocument } from './document.ts';
import { faultsOf } from './oracle.ts';
import { Random } from './random.ts';
import { type Draft, Requests } from './requests.ts';
import type { Target } from './target.ts';
import { trespass } from './trespasses.ts';
import { twistHeaders, twistPath } from './twists.ts';
import { framed, plain } from './wire.ts';
import { World } from './world.ts';

export interface RunOptions {
  readonly requests: number;
  readonly seed: number;
  /** Connections, each with a request on its way. */
  readonly lanes?: number;
  /** Is told of each fault as it is found. */
  readonly onFault?: (fault: string) => void;
  readonly onAnswer?: (draft: Draft, outcome: Outcome) => void;
  /** What the service has computed so far, ms; without it nobody notices that one request kept the others waiting. */
  readonly computed?: () => number;
}

/** How an operation answered: valid requests by status, and the others. */
export interface Tally {
  readonly valid: Map<string, number>;
  readonly spoiled: Map<string, number>;
}

export interface Report {
  readonly requests: number;
  readonly tallies: ReadonlyMap<string, Tally>;
  /** What was wrong, with the request that it was found by. */
  readonly faults: readonly string[];
  readonly slowestMs: number;
  /** The most that was computed between two answers, ms. */
  readonly stalledMs: number;
  readonly world: World;
}

const MOST_FAULTS = 200;
/** A service that does not answer any more is not asked for hours. */
const MOST_LATE = 30;
/** What may be computed between two answers, ms: all connections wait for one. What takes the square of its input takes longer. */
const MOST_STALLED_MS = 500;
/** Statuses by which the kit turns a request away before its handler sees it; handlers may give some of them, too. */
const TURNED_AWAY = /^(?:400|401|403|405|408|413|415|417|431|closed|late)$/;

/** The share of valid requests that have certainly reached a handler. */
export function reachedShare({ tallies }: Report): number {
  let reached = 0;
  let all = 0;
  for (const { valid } of tallies.values()) {
    for (const [status, n] of valid) {
      all += n;
      if (!TURNED_AWAY.test(status)) reached += n;
    }
  }
  return reached / Math.max(1, all);
}

/**
 * Sends requests made of the service's own document: half of them valid, the others such as must be refused, or spoiled in
 * their values, their headers, their path or their framing. The n-th request of a seed is always made alike, but for what the service itself has told before.
 */
export async function fuzz(target: Target, { requests, seed, lanes = 24, onFault, onAnswer, computed }: RunOptions): Promise<Report> {
  const document = await readDocument(target.url);
  const world = new World(target);
  await world.open();
  const streaming = document.operations.filter(({ bodies }) => Object.keys(bodies).some((type) => type !== 'application/json'));
  const maker = new Requests(document, world);
  const { port, host } = new URL(target.url);
  const tallies = new Map(document.operations.map(({ name }): [string, Tally] => [name, { valid: new Map(), spoiled: new Map() }]));
  const faults: string[] = [];
  let slowestMs = 0;
  let next = 0;
  let late = 0;
  let refused = 0;
  let again: { draft: Draft; sending: Sending } | null = null;

  function make(n: number): { draft: Draft; sending: Sending } {
    const random = new Random(seed, n);
    // Bodies that are read as they come are few, and there is much that can happen to them.
    const operation = streaming.length > 0 && random.chance(0.05) ? random.pick(streaming) : document.operations[n % document.operations.length];
    if (!operation) throw new Error('the document has no operations');
    const kind = random.int(0, 99);
    // The same again, at the same time: what bears a key more often.
    const hasKey = again?.draft.headers.some(([name]) => name === 'Idempotency-Key');
    if (again && kind < (hasKey ? 30 : 3)) return again;
    const draft = kind >= 58 && kind < 75 ? maker.spoiled(operation, random) : maker.valid(operation, random);
    if (kind >= 50 && kind < 58) trespass(draft, random, world);
    if (kind >= 75 && kind < 87) twistHeaders(draft, random, world);
    if (kind >= 87 && kind < 92) twistPath(draft, random, world);
    again = { draft, sending: kind >= 92 ? framed(draft, host, random) : plain(draft, host) };
    return again;
  }

  const inFlight = new Set<string>();
  let [computedMs, stalledMs] = [computed?.() ?? 0, 0];
  /** One that computes keeps every other waiting: that no answer came meanwhile tells. */
  function noteStall(): void {
    const now = computed?.() ?? 0;
    const ms = now - computedMs;
    computedMs = now;
    stalledMs = Math.max(stalledMs, ms);
    if (ms > MOST_STALLED_MS) found(`no answer came while ${ms} ms were computed; one of these was being worked on:\n${[...inFlight].join('\n')}`);
  }

  function found(fault: string): void {
    if (faults.length >= MOST_FAULTS) return;
    faults.push(fault);
    onFault?.(fault);
  }

  function note(n: number, draft: Draft, sending: Sending, outcome: Outcome): void {
    onAnswer?.(draft, outcome);
    const tally = tallies.get(draft.operation.name);
    const counts = draft.twists.length === 0 ? tally?.valid : tally?.spoiled;
    const status = String(outcome.answers[0]?.status ?? outcome.end);
    counts?.set(status, (counts.get(status) ?? 0) + 1);
    slowestMs = Math.max(slowestMs, ...outcome.answers.map((answer) => answer.ms));
    for (const fault of faultsOf(draft, outcome, world)) found(`${fault}\n${describe(seed, n, draft, sending, outcome)}`);
  }

  async function lane(): Promise<void> {
    const connection = new Connection(Number(port));
    while (next < requests && late < MOST_LATE) {
      const n = next++;
      const { draft, sending } = make(n);
      // One that half-closes, or is not understood, gets a connection of its own.
      const on = draft.isWild ? new Connection(Number(port)) : connection;
      const name = `  ${draft.operation.name}, request ${n} of seed ${seed}${draft.twists.map((twist) => `, ${twist}`).join('')}`;
      inFlight.add(name);
      const outcome = await on.send(sending);
      noteStall();
      inFlight.delete(name);
      if (on !== connection) on.close();
      if (outcome.end === 'late') late++;
      note(n, draft, sending, outcome);
      await learn(world, draft, outcome).then(
        () => {
          refused = 0;
        },
        (error: unknown) => {
          // Who could not sign in tries again when he is told that he has not.
          if (++refused < MOST_LATE) return;
          found(`nobody can sign in any more: ${error}`);
          late = MOST_LATE;
        },
      );
    }
    connection.close();
  }

  await Promise.all(Array.from({ length: lanes }, lane));
  return { requests, tallies, faults, slowestMs, stalledMs, world };
}

const wordsOf = (path: string) => path.split('/').filter((word) => word !== '' && !word.startsWith('{'));

/** Takes from an answer what later requests are made of. */
async function learn(world: World, draft: Draft, { answers }: Outcome): Promise<void> {
  const [answer] = answers;
  if (!answer) return;
  for (const [name, value] of answer.headers) if (name === 'set-cookie') world.noteCookie(value);
  // A player that was logged out, or signed in as somebody else, comes back.
  const { player, twists } = draft;
  if (player && ((answer.status === 401 && twists.length === 0) || (answer.status === 200 && /^.auth.(?:logout|verify)/.test(draft.path)))) {
    await world.join(player);
  }
  if (answer.status >= 300) return;
  const etag = headerOf(answer, 'etag');
  if (etag !== undefined && world.etags.length < 100) world.etags.push(etag);
  if (!/^application\/json/.test(headerOf(answer, 'content-type') ?? '') || answer.body.length > 100_000) return;
  const body: unknown = JSON.parse(answer.body.toString('utf8') || 'null');
  world.harvest(wordsOf(draft.operation.path), body);
  if (twists.length === 0) world.following.note(draft.operation.name, { world, player, path: draft.path, answer: body });
}

function describe(seed: number, n: number, draft: Draft, { bytes }: Sending, { answers, rest, end }: Outcome): string {
  const shown = (buffer: Buffer, most: number) => {
    const text = JSON.stringify(buffer.toString('latin1', 0, most));
    return buffer.length > most ? `${text}… (${buffer.length} bytes)` : text;
  };
  const got = answers.map(({ status, body, ms }) => `${status} after ${Math.round(ms)} ms: ${shown(body, 600)}`);
  return [
    `  ${draft.operation.name}, request ${n} of seed ${seed}${draft.twists.length > 0 ? `, spoiled: ${draft.twists.join(', ')}` : ''}`,
    `  sent     ${shown(bytes, 1_500)}`,
    ...got.map((line) => `  answered ${line}`),
    ...(rest.length > 0 ? [`  then     ${shown(rest, 300)}`] : []),
    `  ${end}`,
  ].join('\n');
}
