import { setTimeout as sleep } from 'node:timers/promises';
import { HttpError } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import type { RpcNode, TransactionStatus } from '../rpc-node.ts';
import { contradictionScope, pauseOnce } from './pauses.ts';
import type { PendingAttempt } from './rows.ts';
import type { Transition } from './transition.ts';

/** Number of slots after which a node that does not know a finalized transaction contradicts the node that does. */
const DENIAL_SLOTS = 32;
/** Maximum number of signatures per status request. RPC nodes set this limit. */
const MAX_SIGNATURES = 256;
/** Timeout of a status request to the second node, ms. After a timeout, the second node is not asked for `RETRY_SECOND_MS`. */
const SECOND_TIMEOUT_MS = 2_000;
const RETRY_SECOND_MS = 5_000;

/** The last statement of a node about an attempt. */
export interface NodeStatement {
  readonly status: Pick<TransactionStatus, 'slot' | 'err' | 'confirmationStatus'> | null;
  /** The slot that the node had reached when it responded. */
  readonly at: number;
}

interface Contradiction {
  readonly attempt: PendingAttempt;
  readonly reason: string;
}

/** The time until which the second node is not asked, because it did not answer. */
const secondTimeouts = perApp(() => ({ until: 0 }));

/**
 * Returns the state changes to apply: those that are not final, and the final ones that both RPC nodes state. Without a second node, all are applied. A
 * finalized transaction that the second node does not show yet is only confirmed, and waits for a later poll. When the second node states another result, or has
 * no status more than `DENIAL_SLOTS` slots later although it has the block, the transaction's type is paused.
 */
export async function keepAgreed(app: App, transitions: readonly Transition[]): Promise<Transition[]> {
  const { second } = app.chain;
  const isFinal = ({ to }: Transition) => to === 'finalized' || to === 'failed';
  const final = transitions.filter(isFinal);
  if (second === null || final.length === 0) return [...transitions];
  const statements = await askSecond(
    app,
    second,
    final.map(({ attempt }) => attempt),
  );
  const others = transitions.filter((one) => !isFinal(one));
  if (statements === null) return [...others, ...final.flatMap(asConfirmed)];
  const found: Contradiction[] = [];
  const agreed: Transition[] = [];
  const firstBlock = firstBlockOf(second);
  for (const transition of final) {
    const { attempt, to, slot } = transition;
    const statement = statements.get(attempt.signature);
    if (!statement || slot === null) continue;
    const verdict = await compare({ slot, isFailed: to === 'failed' }, statement, firstBlock);
    agreed.push(...(verdict === 'agrees' ? [transition] : asConfirmed(transition)));
    if (verdict === 'contradicts')
      found.push({ attempt, reason: reasonOf(attempt, 'first', { slot, isFailed: to === 'failed' }, 'second', statement) });
  }
  await pauseTypes(app, found);
  return [...others, ...agreed];
}

/** Returns the change of an attempt that landed without an error and waits for the second node. */
const asConfirmed = ({ attempt, to, slot }: Transition): Transition[] =>
  to === 'finalized' && attempt.state !== 'confirmed' ? [{ attempt, to: 'confirmed', slot, error: null }] : [];

/**
 * Pauses the types of attempts that the first RPC node does not know although the second node states that they are final. Only attempts whose expiry
 * check is due are passed, so the second node is asked rarely.
 */
export async function findDenied(app: App, missing: readonly (NodeStatement & { readonly attempt: PendingAttempt })[]): Promise<void> {
  const { node, second } = app.chain;
  if (second === null || missing.length === 0) return;
  const statements = await askSecond(
    app,
    second,
    missing.map(({ attempt }) => attempt),
  );
  const found: Contradiction[] = [];
  const firstBlock = firstBlockOf(node);
  for (const { attempt, at } of missing) {
    const status = statements?.get(attempt.signature)?.status;
    if (status?.confirmationStatus !== 'finalized') continue;
    const landed = { slot: status.slot, isFailed: status.err !== null };
    const statement = { status: null, at };
    if ((await compare(landed, statement, firstBlock)) === 'contradicts')
      found.push({ attempt, reason: reasonOf(attempt, 'second', landed, 'first', statement) });
  }
  await pauseTypes(app, found);
}

/** Returns the statements of the second node by signature; null when it does not answer. */
async function askSecond(app: App, second: RpcNode, attempts: readonly PendingAttempt[]): Promise<Map<string, NodeStatement> | null> {
  const timeouts = app.state(secondTimeouts);
  if (performance.now() < timeouts.until) return null;
  const answer = await Promise.race([readStatements(second, attempts), sleep(SECOND_TIMEOUT_MS, null, { ref: false })]).catch((error: unknown) => {
    if (error instanceof HttpError) return null;
    throw error;
  });
  if (answer === null) {
    timeouts.until = performance.now() + RETRY_SECOND_MS;
    app.log.warn({ waiting: attempts.length }, 'the second RPC node does not answer; final transactions wait for it');
  }
  return answer;
}

async function readStatements(node: RpcNode, attempts: readonly PendingAttempt[]): Promise<Map<string, NodeStatement>> {
  const statements = new Map<string, NodeStatement>();
  for (let i = 0; i < attempts.length; i += MAX_SIGNATURES) {
    const signatures = attempts.slice(i, i + MAX_SIGNATURES).map(({ signature }) => signature);
    const read = await node.statuses(signatures, { searchHistory: true });
    for (const [n, signature] of signatures.entries()) statements.set(signature, { status: read.statuses[n] ?? null, at: read.slot });
  }
  return statements;
}

/** Returns a function that reads the first block of a node at most once; Infinity when the node does not answer. */
function firstBlockOf(node: RpcNode): () => Promise<number> {
  let read: Promise<number> | undefined;
  return () => {
    read ??= node.firstBlock().catch((error: unknown) => {
      if (error instanceof HttpError) return Number.POSITIVE_INFINITY;
      throw error;
    });
    return read;
  };
}

interface Landed {
  readonly slot: number;
  readonly isFailed: boolean;
}

/** Compares the final result that one node states with the statement of the other node. `firstBlock` reads the first block of the other node. */
async function compare(
  landed: Landed,
  { status, at }: NodeStatement,
  firstBlock: () => Promise<number>,
): Promise<'agrees' | 'waits' | 'contradicts'> {
  if (status === null) {
    // A node without the block of the transaction, because it lags or has deleted the block, states nothing about the transaction.
    return at > landed.slot + DENIAL_SLOTS && (await firstBlock()) <= landed.slot ? 'contradicts' : 'waits';
  }
  if (status.confirmationStatus !== 'finalized') return 'waits';
  return status.slot === landed.slot && (status.err !== null) === landed.isFailed ? 'agrees' : 'contradicts';
}

type NodeName = 'first' | 'second';

function reasonOf({ signature }: PendingAttempt, by: NodeName, landed: Landed, other: NodeName, { status, at }: NodeStatement): string {
  const result = ({ slot, isFailed }: Landed) => `${isFailed ? 'failed' : 'succeeded'} in slot ${slot}`;
  const statement =
    status === null ? `at slot ${at} does not know it` : `says that it ${result({ slot: status.slot, isFailed: status.err !== null })}`;
  return `the ${by} RPC node says that ${signature} ${result(landed)}, and the ${other} one ${statement}`;
}

async function pauseTypes(app: App, found: readonly Contradiction[]): Promise<void> {
  for (const [type, [first, ...more]] of Map.groupBy(found, ({ attempt }) => attempt.type)) {
    if (!first) continue;
    const isNew = await app.tx((tx) => pauseOnce(tx, contradictionScope(type), first.reason));
    if (isNew) {
      app.log.error(
        { type, signature: first.attempt.signature, reason: first.reason, more: more.length },
        'the RPC nodes contradict each other; transactions of this type are not signed until an operator resumes them',
      );
    }
  }
}
