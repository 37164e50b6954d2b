import { hash } from 'node:crypto';
import { parseArgs } from 'node:util';
import bs58 from 'bs58';
import { checkAccount, type Pinned } from './epoch-account.ts';
import { download, type Epoch, type Header, type Line, Unreadable, VerificationFailure } from './epoch-published.ts';
import { computeAmounts } from './formula.ts';

/** The formula version that this tool implements. */
const FORMULA = 1;

const print = (line: string) => void process.stdout.write(`${line}\n`);
const printError = (line: string) => void process.stderr.write(`${line}\n`);

function assertEqual(name: string, shown: unknown, found: unknown): void {
  if (shown !== found) throw new VerificationFailure(`${name} is ${shown}, but should be ${found}`);
}

const sha256 = (bytes: Buffer) => hash('sha256', bytes, 'buffer');

/** Returns the hash of a leaf: sha256(0x00 ‖ epoch u64 LE ‖ index u32 LE ‖ wallet ‖ amount u64 LE). */
function leafOf(epoch: number, index: number, { wallet, amount }: Line): Buffer {
  const head = Buffer.alloc(13);
  head.writeBigUInt64LE(BigInt(epoch), 1);
  head.writeUInt32LE(index, 9);
  const tail = Buffer.alloc(8);
  tail.writeBigUInt64LE(amount);
  return sha256(Buffer.concat([head, bs58.decode(wallet), tail]));
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
    const points = lines.map((line) => ({ wallet: line.wallet, points: line.points ?? 0n }));
    assertEqual(
      'points',
      header.points,
      points.reduce((sum, own) => sum + own.points, 0n),
    );
    const due = computeAmounts(header, points);
    for (const { wallet, amount } of lines) assertEqual(`the amount of ${wallet}`, amount, due.get(wallet) ?? 0n);
  }
  assertEqual('total', header.total, total);
  if (total > header.pool) throw new VerificationFailure(`total is ${total}, more than the pool of ${header.pool}`);
  assertEqual('undistributed', header.undistributed, header.pool - total);
}

/** Returns the root of a tree. A parent node is the hash of its two children in sorted order; a last node without a partner moves up unchanged. */
function rootOf(leaves: readonly Buffer[]): Buffer | undefined {
  let level = leaves;
  while (level.length > 1) {
    const parents: Buffer[] = [];
    for (let i = 0; i < level.length; i += 2) {
      const [left, right] = [level[i], level[i + 1]];
      if (left && right) parents.push(sha256(Buffer.concat(Buffer.compare(left, right) < 0 ? [left, right] : [right, left])));
      else if (left) parents.push(left);
    }
    level = parents;
  }
  return level[0];
}

function checkRoot(header: Header, paid: readonly Line[]): void {
  const root = rootOf(paid.map((line, index) => leafOf(header.epoch, index, line)));
  assertEqual('root', header.root, root?.toString('hex') ?? null);
}

/** Verifies an epoch and prints the results. Returns the values that were taken on the service's word. */
async function verify(base: string, number: number, rpc: string, pinned: Pinned): Promise<string[]> {
  const { epoch, header, lines } = await download(base, number);
  checkHeader(number, epoch, header);
  const paid = checkLines(header, lines);
  print(`${lines.length} wallets, ${paid.length} leaves: the counts are correct`);
  checkAmounts(header, lines);
  const isImport = header.source === 'import';
  print(
    `amounts: ${isImport ? 'imported, not computed from points' : 'recomputed from the points, all equal'}; total ${header.total} of a pool of ${header.pool}`,
  );
  checkRoot(header, paid);
  print(`root: ${header.root ?? 'none'}`);
  const words = [isImport ? 'all amounts: an operator imported them' : 'the points of each wallet, and the rules: pool, cap and dust'];
  if (epoch.onChain === null) {
    if (epoch.status === 'committed' || epoch.status === 'expired')
      throw new VerificationFailure(`status is ${epoch.status}, but the field onChain is null`);
    print(`not on the chain: its status is ${epoch.status}`);
    if (epoch.status !== 'empty') words.push('that the root does not change before it is on the chain');
    return words;
  }
  const amounts = paid.map(({ amount }) => amount);
  const found = await checkAccount(epoch, epoch.onChain, amounts, rpc, pinned);
  for (const line of found.lines) print(line);
  return [...words, ...found.words];
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
    const words = await verify(base, Number(number), rpc, pinned);
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
