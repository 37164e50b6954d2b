import { parseArgs } from 'node:util';
import { checkAccount, type Pinned } from './epoch-account.ts';
import { checkMemo } from './epoch-memo.ts';
import { checkPoints } from './epoch-points.ts';
import { download, type Epoch, type Header, type Line, Unreadable, VerificationFailure } from './epoch-published.ts';
import { computeAmounts } from './formula.ts';
import { parseLines, rootOf } from './leaves.ts';

/** The formula version that this tool implements. */
const FORMULA = 1;

const print = (line: string) => void process.stdout.write(`${line}\n`);
const printError = (line: string) => void process.stderr.write(`${line}\n`);

function assertEqual(name: string, shown: unknown, found: unknown): void {
  if (shown !== found) throw new VerificationFailure(`${name} is ${shown}, but should be ${found}`);
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
    if (seen.has(wallet)) throw new VerificationFailure(`wallet ${wallet} is in the leaves twice`);
    seen.add(wallet);
    assertEqual(`the index in line ${i + 2} of the leaves`, index, i < paid.length ? i : null);
    if (amount > 0n !== (index !== null)) throw new VerificationFailure(`line ${i + 2} of the leaves has index ${index} and amount ${amount}`);
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
  if (total > header.pool) throw new VerificationFailure(`total is ${total}, more than the pool of ${header.pool}`);
  assertEqual('undistributed', header.undistributed, header.pool - total);
}

/** The outcome of a verification that found no false value: the values that were taken on the service’s word, and the checks that were not possible. */
interface Outcome {
  readonly words: readonly string[];
  readonly unchecked: readonly string[];
}

/** Runs a check. When a source does not answer, adds the reason to `unchecked` and returns null, so that the other checks can still find a false value. */
async function attempt<T>(unchecked: string[], check: () => Promise<T>): Promise<T | null> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    unchecked.push(error.message);
    return null;
  }
}

/** Verifies an epoch and prints the results. */
async function verify(base: string, number: number, rpc: string, pinned: Pinned): Promise<Outcome> {
  const { epoch, header, lines: texts } = await download(base, number);
  const leaves = parseLines(texts);
  const { lines } = leaves;
  checkHeader(number, epoch, header);
  const paid = checkLines(header, lines);
  print(`${lines.length} wallets, ${paid.length} leaves: the counts are correct`);
  checkAmounts(header, lines);
  const isImport = header.source === 'import';
  print(
    `amounts: ${isImport ? 'imported, not computed from points' : 'recomputed from the points, all equal'}; total ${header.total} of a pool of ${header.pool}`,
  );
  assertEqual('root', header.root, rootOf(number, leaves, paid.length));
  print(`root: ${header.root ?? 'none'}`);
  if (isImport && epoch.pointsHash !== null) throw new VerificationFailure('the epoch was imported, but the service names a points file');
  const unchecked: string[] = [];
  const points = isImport ? null : await attempt(unchecked, () => checkPoints(base, epoch, lines));
  for (const line of points?.lines ?? []) print(line);
  const words = isImport ? ['all amounts: an operator imported them'] : (points?.words ?? []);
  if (epoch.onChain === null) return { words: [...words, ...describeMissing(epoch)], unchecked };
  const { onChain } = epoch;
  const amounts = paid.map(({ amount }) => amount);
  const found = await attempt(unchecked, () => checkAccount(epoch, onChain, amounts, rpc, pinned));
  for (const line of found?.lines ?? []) print(line);
  const memo = await attempt(unchecked, () => checkMemo(epoch, onChain, points?.bytes ?? null, rpc));
  if (memo !== null) print(memo);
  return { words: [...words, ...(found?.words ?? [])], unchecked };
}

/** Prints the status of an epoch that is not on the chain. Returns the values that are taken on the service’s word until it is. */
function describeMissing({ status, source, reviewEndsAt }: Epoch): string[] {
  if (status === 'committed' || status === 'expired') throw new VerificationFailure(`status is ${status}, but the field onChain is null`);
  const review = status === 'computed' && reviewEndsAt ? `; its review ends at ${reviewEndsAt}` : '';
  print(`not on the chain: its status is ${status}${review}`);
  if (status !== 'computed') return [];
  return [
    source === 'import'
      ? 'that the root does not change before it is on the chain'
      : 'that root and points file do not change before they are on the chain',
  ];
}

const USAGE = 'usage: bin/verify-epoch URL EPOCH [--rpc URL] [--program ADDRESS] [--authority ADDRESS] [--mint ADDRESS]';

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { rpc: text, program: text, authority: text, mint: text } });
  const [base = '', number = ''] = positionals;
  if (!URL.canParse(base) || !/^\d{1,9}$/.test(number) || positionals.length !== 2) {
    printError(USAGE);
    return 2;
  }
  const { rpc = process.env.SOLANA_RPC_URL ?? 'https://api.mainnet-beta.solana.com', ...pinned } = values;
  try {
    const { words, unchecked } = await verify(base, Number(number), rpc, pinned);
    if (unchecked.length > 0) throw new Unreadable(unchecked.join('; '));
    for (const line of ['', 'Taken on the service’s word:', ...words.map((value) => `  ${value}`), '']) print(line);
    print(`epoch ${number} is verified`);
    return 0;
  } catch (error) {
    if (error instanceof VerificationFailure) {
      printError(`epoch ${number} failed verification: ${error.message}`);
      return 1;
    }
    if (!(error instanceof Unreadable)) throw error;
    printError(`epoch ${number} could not be checked: ${error.message}`);
    return 2;
  }
}

process.exitCode = await main();
