/**
 * Measures the costs of the program in the SVM: `node test/programs/costs.ts` prints the table of the README. Compute units depend on the
 * addresses (1,500 for each bump that is tried), so a row has the median and the maximum of many runs.
 * Lamports are without the fee, at the SVM's rent of 6,960 lamports per byte.
 */
import { Keypair, Transaction, type TransactionInstruction } from '@solana/web3.js';
import { wireOf } from './svm.ts';
import { deepened, treeOf, wallets } from './tree.ts';
import { World } from './world.ts';

/** Leaves of the tree. */
const LEAVES = 1_000_000;
/** Nodes per proof. */
const DEPTH = 20;
const FEE = 5_000n;

interface Run {
  readonly units: number;
  /** Lamports paid without the fee; negative when lamports were received. */
  readonly lamports: number;
  /** Bytes of the signed transaction. */
  readonly bytes: number;
}

interface Cost {
  readonly name: string;
  /** Median of the compute units. */
  readonly units: number;
  /** Maximum of the compute units. */
  readonly max: number;
  readonly lamports: number;
  readonly bytes: number;
}

/** Sends a transaction and measures it. @param whose the account whose lamports are compared, the payer by default */
function measureOne(world: World, instructions: readonly TransactionInstruction[], signers: readonly Keypair[], whose = world.payer): Run {
  const before = world.svm.lamports(whose.publicKey);
  const { units } = world.must(instructions, ...signers);
  const fee = whose === world.payer ? FEE * BigInt(1 + signers.length) : 0n;
  const tx = new Transaction({ recentBlockhash: Keypair.generate().publicKey.toBase58(), feePayer: world.payer.publicKey }).add(...instructions);
  return { units, lamports: Number(before - world.svm.lamports(whose.publicKey) - fee), bytes: wireOf(tx).length };
}

/** Measures all transactions of one epoch. */
function runs(): [name: string, run: Run][] {
  const world = new World('all features');
  const { authority } = world;
  const epoch = world.plan(world.mint(), deepened(treeOf(wallets(8), 1n), DEPTH - 3, LEAVES));
  const open = measureOne(world, [...world.funding(epoch), world.opening(epoch)], [authority]);
  for (const index of [0, 1]) world.destination(epoch, index);
  const first = measureOne(world, [world.claiming(epoch, 0)], []);
  const later = measureOne(world, [world.claiming(epoch, 1)], []);
  const withAccount = measureOne(world, [world.tokenAccount(epoch.claim(2).wallet, epoch.mint), world.claiming(epoch, 2)], []);
  const settle = measureOne(world, [world.settling(epoch)], [authority]);
  const close = measureOne(world, [world.closing(epoch)], [], authority);
  const closePage = measureOne(world, [world.closingPage(epoch, 0)], [], authority);
  return [
    ['vault account, funding and `open`', open],
    ['`claim`, first of its page', first],
    ['`claim`, later', later],
    ['wallet’s token account and `claim`, later', withAccount],
    ['`settle`', settle],
    ['`close`', close],
    ['`close_page`', closePage],
  ];
}

/** Measures each transaction in `times` epochs of a million leaves. */
export function measure(times: number): Cost[] {
  const found = new Map<string, Run[]>();
  for (let i = 0; i < times; i++) for (const [name, run] of runs()) found.set(name, [...(found.get(name) ?? []), run]);
  return [...found].map(([name, list]) => {
    const units = list.map((run) => run.units).sort((a, b) => a - b);
    const [one] = list;
    return { name, units: units[units.length >> 1] ?? 0, max: units.at(-1) ?? 0, lamports: one?.lamports ?? 0, bytes: one?.bytes ?? 0 };
  });
}

if (import.meta.main) {
  const number = new Intl.NumberFormat('en');
  process.stdout.write('| transaction | compute units | maximum | lamports | bytes |\n| --- | ---: | ---: | ---: | ---: |\n');
  for (const { name, ...cost } of measure(100)) {
    process.stdout.write(`| ${[name, ...[cost.units, cost.max, cost.lamports, cost.bytes].map((value) => number.format(value))].join(' | ')} |\n`);
  }
}
