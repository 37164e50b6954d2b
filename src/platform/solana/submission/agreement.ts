import { setTimeout as sleep } from 'node:timers/promises';
import { HttpError } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import type { RpcNode, TransactionStatus } from '../rpc-node.ts';
import { contradictionScope, pauseOnce } from './pauses.ts';
import type { PendingAttempt } from './rows.ts';
import type { Transition } from './transition.ts';

/** Number of slots after which a node that does not know a finalized transaction contradicts the node that does. */
export const DENIAL_SLOTS = 32;
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

/** A finalized transaction, as one RPC node states it. */
export interface FinalTransaction {
  /** Type of the transaction. A contradiction pauses this type. */
  readonly type: string;
  readonly signature: string;
  readonly slot: number;
  readonly isFailed: boolean;
}

/** How the statement of the other RPC node compares with that of the node that states a final result. */
type Verdict = 'agrees' | 'waits' | 'contradicts';

interface Contradiction {
  readonly transaction: FinalTransaction;
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
  const landed = new Map<Transition, FinalTransaction>();
  for (const transition of final) {
    const { attempt, to, slot } = transition;
    if (slot !== null) landed.set(transition, { type: attempt.type, signature: attempt.signature, slot, isFailed: to === 'failed' });
  }
  const verdicts = await compareWithSecond(app, second, [...landed.values()]);
  const others = transitions.filter((one) => !isFinal(one));
  const agreed = [...landed].flatMap(([transition, { signature }]) =>
    verdicts.get(signature) === 'agrees' ? [transition] : asConfirmed(transition),
  );
  return [...others, ...agreed];
}

/**
 * Returns the signatures of the finalized transactions that both RPC nodes state with the same result. Without a second node, returns all. While the
 * second node is silent, lags, or has no history of that time, a transaction is left out, so that the caller asks again later. A contradiction pauses the
 * type of the transaction.
 * @param transactions finalized transactions as the first node states them
 */
export async function keepAgreedSignatures(app: App, transactions: readonly FinalTransaction[]): Promise<ReadonlySet<string>> {
  const { second } = app.chain;
  if (second === null || transactions.length === 0) return new Set(transactions.map(({ signature }) => signature));
  const verdicts = await compareWithSecond(app, second, transactions);
  return new Set(transactions.map(({ signature }) => signature).filter((signature) => verdicts.get(signature) === 'agrees'));
}

/** Compares final results of the first node with the second node, and pauses the types of contradicted transactions. @returns verdicts by signature */
async function compareWithSecond(app: App, second: RpcNode, transactions: readonly FinalTransaction[]): Promise<Map<string, Verdict>> {
  const verdicts = new Map<string, Verdict>();
  const signatures = transactions.map(({ signature }) => signature);
  const statements = await askSecond(app, (node) => readStatements(node, signatures));
  const found: Contradiction[] = [];
  const firstBlock = firstBlockOf(second);
  for (const transaction of transactions) {
    const statement = statements?.get(transaction.signature);
    if (!statement) continue;
    const verdict = await compare(transaction, statement, firstBlock);
    verdicts.set(transaction.signature, verdict);
    if (verdict === 'contradicts') found.push({ transaction, reason: reasonOf(transaction, 'first', 'second', statement) });
  }
  await pauseTypes(app, found);
  return verdicts;
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
  const signatures = missing.map(({ attempt }) => attempt.signature);
  const statements = await askSecond(app, (other) => readStatements(other, signatures));
  const found: Contradiction[] = [];
  const firstBlock = firstBlockOf(node);
  for (const { attempt, at } of missing) {
    const status = statements?.get(attempt.signature)?.status;
    if (status?.confirmationStatus !== 'finalized') continue;
    const transaction = { type: attempt.type, signature: attempt.signature, slot: status.slot, isFailed: status.err !== null };
    const statement = { status: null, at };
    if ((await compare(transaction, statement, firstBlock)) === 'contradicts')
      found.push({ transaction, reason: reasonOf(transaction, 'second', 'first', statement) });
  }
  await pauseTypes(app, found);
}

/** Asks the second RPC node. Returns null when it does not answer in time, and then for a while without asking it. */
export async function askSecond<T>(app: App, ask: (second: RpcNode) => Promise<T>): Promise<T | null> {
  const { second } = app.chain;
  const timeouts = app.state(secondTimeouts);
  if (second === null || performance.now() < timeouts.until) return null;
  const answer = await Promise.race([ask(second), sleep(SECOND_TIMEOUT_MS, null, { ref: false })]).catch((error: unknown) => {
    if (error instanceof HttpError) return null;
    throw error;
  });
  if (answer === null) {
    timeouts.until = performance.now() + RETRY_SECOND_MS;
    app.log.warn('the second RPC node does not answer; what is final waits for it');
  }
  return answer;
}

async function readStatements(node: RpcNode, signatures: readonly string[]): Promise<Map<string, NodeStatement>> {
  const statements = new Map<string, NodeStatement>();
  for (let i = 0; i < signatures.length; i += MAX_SIGNATURES) {
    const part = signatures.slice(i, i + MAX_SIGNATURES);
    const read = await node.statuses(part, { searchHistory: true });
    for (const [n, signature] of part.entries()) statements.set(signature, { status: read.statuses[n] ?? null, at: read.slot });
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

/** Compares the final result that one node states with the statement of the other node. `firstBlock` reads the first block of the other node. */
async function compare(
  landed: Pick<FinalTransaction, 'slot' | 'isFailed'>,
  { status, at }: NodeStatement,
  firstBlock: () => Promise<number>,
): Promise<Verdict> {
  if (status === null) {
    // A node without the block of the transaction, because it lags or has deleted the block, states nothing about the transaction.
    return at > landed.slot + DENIAL_SLOTS && (await firstBlock()) <= landed.slot ? 'contradicts' : 'waits';
  }
  if (status.confirmationStatus !== 'finalized') return 'waits';
  return status.slot === landed.slot && (status.err !== null) === landed.isFailed ? 'agrees' : 'contradicts';
}

type NodeName = 'first' | 'second';

function reasonOf(transaction: FinalTransaction, by: NodeName, other: NodeName, { status, at }: NodeStatement): string {
  const result = ({ slot, isFailed }: Pick<FinalTransaction, 'slot' | 'isFailed'>) => `${isFailed ? 'failed' : 'succeeded'} in slot ${slot}`;
  const statement =
    status === null ? `at slot ${at} does not know it` : `says that it ${result({ slot: status.slot, isFailed: status.err !== null })}`;
  return `the ${by} RPC node says that ${transaction.signature} ${result(transaction)}, and the ${other} one ${statement}`;
}

async function pauseTypes(app: App, found: readonly Contradiction[]): Promise<void> {
  for (const [type, [first]] of Map.groupBy(found, ({ transaction }) => transaction.type))
    if (first) await pauseContradicted(app, type, first.reason);
}

/** Pauses a type of transactions because the RPC nodes contradict each other, until an operator resumes it. */
export async function pauseContradicted(app: App, type: string, reason: string): Promise<void> {
  if (!(await app.tx((tx) => pauseOnce(tx, contradictionScope(type), reason)))) return;
  app.log.error({ type, reason }, 'the RPC nodes contradict each other; this type stops until an operator resumes it');
}
