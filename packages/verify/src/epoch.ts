import { openChain } from './chain.ts';
import { checkAccount, type EpochPins } from './epoch/account.ts';
import { computeAmounts } from './epoch/formula.ts';
import { parseLines, rootOf } from './epoch/leaves.ts';
import { checkMemo } from './epoch/memo.ts';
import { checkPoints, type PointsFindings } from './epoch/points.ts';
import { download, type Epoch, type Header, type Line } from './epoch/published.ts';
import { Lie, type OnStep, Report, type Step, Unknown, type Verdict } from './report.ts';
import { type RpcSource, rpcSource } from './sources.ts';

/** The formula version that this verifier implements. */
const FORMULA = 1;

export interface EpochOptions {
  /** URL of the house, for example https://arcade.example. */
  readonly house: string;
  /** Number of the epoch: its UTC day since 1970-01-01. */
  readonly epoch: number;
  /** URL of the verifier's own Solana node, or a function that calls it. */
  readonly rpc: string | RpcSource;
  readonly pins?: EpochPins | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly onStep?: OnStep | undefined;
}

/** The outcome of a verification. */
export interface EpochVerification {
  readonly verdict: Verdict;
  readonly steps: readonly Step[];
  readonly onTheHousesWord: readonly string[];
}

/**
 * Verifies the rewards of an epoch: computes the amounts and the root again, and compares them with the chain (docs/verification.md). If a response of
 * the house or of an RPC node is wrong, the verdict names the fault; the function does not throw.
 */
export async function verifyEpoch(options: EpochOptions): Promise<EpochVerification> {
  const report = new Report(options.onStep);
  try {
    await checkEpoch(options, report);
  } catch (error) {
    report.ended(error);
  }
  return { verdict: report.verdict, steps: report.steps, onTheHousesWord: report.onTheHousesWord };
}

function assertEqual(name: string, shown: unknown, found: unknown): void {
  if (shown !== found) throw new Lie('amounts', `${name} is ${shown}, but should be ${found}`);
}

/** Compares the first line of the file of leaves with the epoch. */
function checkHeader(number: number, epoch: Epoch, header: Header): void {
  assertEqual('the number of the epoch', epoch.epoch, number);
  for (const [field, value] of Object.entries(header)) assertEqual(`${field} in the first line of the leaves`, value, Reflect.get(epoch, field));
}

/**
 * Checks that the lines list first the paid leaves, ordered by index, and then the unpaid wallets, and that each wallet occurs once. Returns the paid
 * leaves.
 */
function checkLines(header: Header, lines: readonly Line[]): Line[] {
  const paid = lines.filter(({ index }) => index !== null);
  assertEqual('the number of leaves', header.leaves, paid.length);
  assertEqual('the number of wallets', header.wallets, lines.length);
  const seen = new Set<string>();
  for (const [i, { index, wallet, amount }] of lines.entries()) {
    if (seen.has(wallet)) throw new Lie('amounts', `wallet ${wallet} is in the leaves twice`);
    seen.add(wallet);
    assertEqual(`the index in line ${i + 2} of the leaves`, index, i < paid.length ? i : null);
    if (amount > 0n !== (index !== null)) throw new Lie('amounts', `line ${i + 2} of the leaves has index ${index} and amount ${amount}`);
  }
  return paid;
}

/** Recomputes all amounts from the points. The amounts of an imported epoch were not computed from points, so only their sums are checked. */
function checkAmounts(header: Header, lines: readonly Line[]): void {
  const total = lines.reduce((sum, { amount }) => sum + amount, 0n);
  if (header.source === 'computed') {
    assertEqual('formulaVersion', header.formulaVersion, FORMULA);
    assertEqual(
      'points',
      header.points,
      lines.reduce((sum, { points }) => sum + (points ?? 0n), 0n),
    );
    const due = computeAmounts(header, lines);
    for (const [i, { wallet, amount }] of lines.entries()) assertEqual(`the amount of ${wallet}`, amount, due[i]);
  }
  assertEqual('total', header.total, total);
  if (total > header.pool) throw new Lie('amounts', `total is ${total}, more than the pool of ${header.pool}`);
  assertEqual('undistributed', header.undistributed, header.pool - total);
}

/** Runs a check. Records a check that is impossible and returns null, so that the other checks can still find a false value. */
async function attempt<T>(report: Report, check: () => Promise<T>): Promise<T | null> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof Unknown)) throw error;
    report.ended(error);
    return null;
  }
}

async function checkEpoch({ house, epoch: number, rpc, pins = {}, fetch = globalThis.fetch }: EpochOptions, report: Report): Promise<void> {
  const { epoch, header, lines: texts } = await download(fetch, house, number);
  const leaves = parseLines(texts);
  const { lines } = leaves;
  checkHeader(number, epoch, header);
  const paid = checkLines(header, lines);
  report.holds('leaves', `${lines.length} wallets, ${paid.length} leaves: the counts are correct`);
  checkAmounts(header, lines);
  const isImport = header.source === 'import';
  const origin = isImport ? 'imported, not computed from points' : 'recomputed from the points, all equal';
  report.holds('amounts', `amounts: ${origin}; total ${header.total} of a pool of ${header.pool}`);
  assertEqual('root', header.root, rootOf(number, leaves, paid.length));
  report.holds('root', `root: ${header.root ?? 'none'}`);
  const points = await checkSource(report, fetch, house, epoch, lines);
  const { onChain } = epoch;
  if (onChain === null) return reportMissing(report, epoch);
  const chain = openChain(typeof rpc === 'string' ? rpcSource(rpc) : rpc);
  const amounts = paid.map(({ amount }) => amount);
  await attempt(report, () => checkAccount({ report, chain, pins }, epoch, onChain, amounts));
  const memo = await attempt(report, () => checkMemo(epoch, onChain, points?.bytes ?? null, chain));
  if (memo !== null) report.holds('memo', memo);
}

/** Checks the points file of a computed epoch. Returns null for an import, and when the file cannot be checked. */
async function checkSource(
  report: Report,
  fetch: typeof globalThis.fetch,
  house: string,
  epoch: Epoch,
  lines: readonly Line[],
): Promise<PointsFindings | null> {
  if (epoch.source === 'import') {
    if (epoch.pointsHash !== null) throw new Lie('points', 'the epoch was imported, but the service names a points file');
    report.word('all amounts: an operator imported them');
    return null;
  }
  const points = await attempt(report, () => checkPoints(fetch, house, epoch, lines));
  for (const line of points?.lines ?? []) report.holds('points', line);
  for (const word of points?.words ?? []) report.word(word);
  return points;
}

/** Reports the status of an epoch that is not on the chain, and the values that are taken on the service’s word until it is. */
function reportMissing(report: Report, { status, source, reviewEndsAt }: Epoch): void {
  if (status === 'committed' || status === 'expired') throw new Lie('account', `status is ${status}, but the field onChain is null`);
  const review = status === 'computed' && reviewEndsAt ? `; its review ends at ${reviewEndsAt}` : '';
  report.holds('status', `not on the chain: its status is ${status}${review}`);
  if (status !== 'computed') return;
  const [root, both] = ['that the root does not change before it is', 'that root and points file do not change before they are'];
  report.word(`${source === 'import' ? root : both} on the chain`);
}
