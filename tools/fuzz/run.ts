import { ClientState } from './client-state.ts';
import { Connection, headerOf, type OutgoingRequest, type SendResult } from './connection.ts';
import { readDocument } from './document.ts';
import { findFaults } from './expectations.ts';
import { Random } from './random.ts';
import { withHostileFraming, withNormalFraming } from './requests/framing.ts';
import { mutateHeaders, mutatePath } from './requests/mutations.ts';
import { type Draft, RequestBuilder } from './requests/request-builder.ts';
import { violate } from './requests/violations.ts';
import type { Target } from './target.ts';

export interface RunOptions {
  readonly requests: number;
  readonly seed: number;
  /** Number of connections; each has one request in flight. */
  readonly connections?: number;
  /** Called with each fault. */
  readonly onFault?: (fault: string) => void;
  readonly onResult?: (draft: Draft, outcome: SendResult) => void;
  /** Returns the processor time of the service so far, ms; without it stalls are not detected. */
  readonly cpuMs?: () => number;
}

/** Responses of an operation by status: of valid and of mutated requests. */
export interface Tally {
  readonly valid: Map<string, number>;
  readonly mutated: Map<string, number>;
}

export interface Report {
  readonly requests: number;
  readonly tallies: ReadonlyMap<string, Tally>;
  /** Faults, each with its request. */
  readonly faults: readonly string[];
  readonly slowestMs: number;
  /** Maximum processor time between two responses, ms. */
  readonly stalledMs: number;
  readonly state: ClientState;
}

const MAX_FAULTS = 200;
/** Maximum timeouts before the run stops. */
const MAX_TIMEOUTS = 30;
/** Maximum processor time between two responses, ms: one long computation blocks all connections. Algorithms that are not linear exceed it. */
const MAX_STALL_MS = 500;
/** Statuses of requests that the HTTP framework rejects before the handler runs; handlers may return some of them too. */
const REJECTED_BEFORE_HANDLER = /^(?:400|401|403|405|408|413|415|417|431|closed|timeout)$/;

/** Returns the share of valid requests that certainly reached a handler. */
export function reachedShare({ tallies }: Report): number {
  let reached = 0;
  let all = 0;
  for (const { valid } of tallies.values()) {
    for (const [status, n] of valid) {
      all += n;
      if (!REJECTED_BEFORE_HANDLER.test(status)) reached += n;
    }
  }
  return reached / Math.max(1, all);
}

/**
 * Sends requests generated from the OpenAPI document: half of them valid, the others must be rejected or have a mutated value, header,
 * path or framing. Request n of a seed is always generated in the same way, except for values from earlier responses.
 */
export async function fuzz(target: Target, { requests, seed, connections = 24, onFault, onResult, cpuMs }: RunOptions): Promise<Report> {
  const document = await readDocument(target.url);
  const state = new ClientState(target);
  await state.open();
  const streaming = document.operations.filter(({ bodies }) => Object.keys(bodies).some((type) => type !== 'application/json'));
  const builder = new RequestBuilder(document, state);
  const { port, host } = new URL(target.url);
  const tallies = new Map(document.operations.map(({ name }): [string, Tally] => [name, { valid: new Map(), mutated: new Map() }]));
  const faults: string[] = [];
  let slowestMs = 0;
  let next = 0;
  let timeouts = 0;
  let failedSignIns = 0;
  let previous: { draft: Draft; outgoing: OutgoingRequest } | null = null;

  function make(n: number): { draft: Draft; outgoing: OutgoingRequest } {
    const random = new Random(seed, n);
    // Operations with streamed bodies are few, but have many error cases, so they are chosen more often.
    const operation = streaming.length > 0 && random.chance(0.05) ? random.pick(streaming) : document.operations[n % document.operations.length];
    if (!operation) throw new Error('the document has no operations');
    const kind = random.int(0, 99);
    // Repeats the previous request concurrently; more often if it has an idempotency key.
    const hasKey = previous?.draft.headers.some(([name]) => name === 'Idempotency-Key');
    if (previous && kind < (hasKey ? 30 : 3)) return previous;
    const draft = kind >= 58 && kind < 75 ? builder.mutated(operation, random) : builder.valid(operation, random);
    if (kind >= 50 && kind < 58) violate(draft, random, state);
    if (kind >= 75 && kind < 87) mutateHeaders(draft, random, state);
    if (kind >= 87 && kind < 92) mutatePath(draft, random, state);
    previous = { draft, outgoing: kind >= 92 ? withHostileFraming(draft, host, random) : withNormalFraming(draft, host) };
    return previous;
  }

  const inFlight = new Set<string>();
  let [lastCpuMs, stalledMs] = [cpuMs?.() ?? 0, 0];
  /** Reports a stall: the processor time since the previous response is too long. */
  function checkStall(): void {
    const now = cpuMs?.() ?? 0;
    const ms = now - lastCpuMs;
    lastCpuMs = now;
    stalledMs = Math.max(stalledMs, ms);
    if (ms > MAX_STALL_MS)
      reportFault(`no response during ${ms} ms of processor time; one of these requests was in progress:\n${[...inFlight].join('\n')}`);
  }

  function reportFault(fault: string): void {
    if (faults.length >= MAX_FAULTS) return;
    faults.push(fault);
    onFault?.(fault);
  }

  function record(n: number, draft: Draft, outgoing: OutgoingRequest, outcome: SendResult): void {
    onResult?.(draft, outcome);
    const tally = tallies.get(draft.operation.name);
    const counts = draft.mutations.length === 0 ? tally?.valid : tally?.mutated;
    const status = String(outcome.responses[0]?.status ?? outcome.end);
    counts?.set(status, (counts.get(status) ?? 0) + 1);
    slowestMs = Math.max(slowestMs, ...outcome.responses.map((answer) => answer.ms));
    for (const fault of findFaults(draft, outcome, state)) reportFault(`${fault}\n${describe(seed, n, draft, outgoing, outcome)}`);
  }

  async function sendRequests(): Promise<void> {
    const connection = new Connection(Number(port));
    while (next < requests && timeouts < MAX_TIMEOUTS) {
      const n = next++;
      const { draft, outgoing } = make(n);
      // A request with unusual framing gets its own connection, because the service may close it.
      const requestConnection = draft.isUndocumented ? new Connection(Number(port)) : connection;
      const name = `  ${draft.operation.name}, request ${n} of seed ${seed}${draft.mutations.map((mutation) => `, ${mutation}`).join('')}`;
      inFlight.add(name);
      const outcome = await requestConnection.send(outgoing);
      checkStall();
      inFlight.delete(name);
      if (requestConnection !== connection) requestConnection.close();
      if (outcome.end === 'timeout') timeouts++;
      record(n, draft, outgoing, outcome);
      await learnFrom(state, draft, outcome).then(
        () => {
          failedSignIns = 0;
        },
        (error: unknown) => {
          // A player that could not sign in tries again after the next 401.
          if (++failedSignIns < MAX_TIMEOUTS) return;
          reportFault(`players cannot sign in: ${error}`);
          timeouts = MAX_TIMEOUTS;
        },
      );
    }
    connection.close();
  }

  await Promise.all(Array.from({ length: connections }, sendRequests));
  return { requests, tallies, faults, slowestMs, stalledMs, state };
}

const wordsOf = (path: string) => path.split('/').filter((word) => word !== '' && !word.startsWith('{'));

/** Stores values of a response for later requests. */
async function learnFrom(state: ClientState, draft: Draft, { responses }: SendResult): Promise<void> {
  const [answer] = responses;
  if (!answer) return;
  for (const [name, value] of answer.headers) if (name === 'set-cookie') state.noteCookie(value);
  // Signs a player in again after a logout or a sign-in with another wallet.
  const { player, mutations } = draft;
  if (player && ((answer.status === 401 && mutations.length === 0) || (answer.status === 200 && /^.auth.(?:logout|verify)/.test(draft.path)))) {
    await state.signIn(player);
  }
  if (answer.status >= 300) return;
  const etag = headerOf(answer, 'etag');
  if (etag !== undefined && state.etags.length < 100) state.etags.push(etag);
  if (!/^application\/json/.test(headerOf(answer, 'content-type') ?? '') || answer.body.length > 100_000) return;
  const body: unknown = JSON.parse(answer.body.toString('utf8') || 'null');
  state.rememberIds(wordsOf(draft.operation.path), body);
  if (mutations.length === 0) state.followUps.add(draft.operation.name, { players: state.players, player, path: draft.path, answer: body });
}

function describe(seed: number, n: number, draft: Draft, { bytes }: OutgoingRequest, { responses, rest, end }: SendResult): string {
  const shown = (buffer: Buffer, maxBytes: number) => {
    const text = JSON.stringify(buffer.toString('latin1', 0, maxBytes));
    return buffer.length > maxBytes ? `${text}… (${buffer.length} bytes)` : text;
  };
  const got = responses.map(({ status, body, ms }) => `${status} after ${Math.round(ms)} ms: ${shown(body, 600)}`);
  return [
    `  ${draft.operation.name}, request ${n} of seed ${seed}${draft.mutations.length > 0 ? `, mutated: ${draft.mutations.join(', ')}` : ''}`,
    `  sent     ${shown(bytes, 1_500)}`,
    ...got.map((line) => `  response ${line}`),
    ...(rest.length > 0 ? [`  rest     ${shown(rest, 300)}`] : []),
    `  ${end}`,
  ].join('\n');
}
