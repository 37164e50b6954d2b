/**
 * Measures the costs of the program in the SVM: `node test/programs/distributor/costs.ts` prints the table of the README. Compute units depend on
 * the addresses (1,500 for each bump that is tried), so a row has the median and the maximum of many runs.
 * Lamports are without the fee, at the SVM's rent of 6,960 lamports per byte.
 */
import { type Cost, measureAll, measureOne, printCosts, type Run } from '../cost-table.ts';
import { deepened, treeOf, wallets } from './tree.ts';
import { World } from './world.ts';

/** Leaves of the tree. */
const LEAVES = 1_000_000;
/** Nodes per proof. */
const DEPTH = 20;

/** Measures all transactions of one epoch. */
function runs(): [name: string, run: Run][] {
  const world = new World('all features');
  const { svm, payer, authority } = world;
  const epoch = world.plan(world.mint(), deepened(treeOf(wallets(8), 1n), DEPTH - 3, LEAVES));
  const open = measureOne(svm, [...world.funding(epoch), world.opening(epoch)], [payer, authority]);
  for (const index of [0, 1]) world.destination(epoch, index);
  const first = measureOne(svm, [world.claiming(epoch, 0)], [payer]);
  const later = measureOne(svm, [world.claiming(epoch, 1)], [payer]);
  const withAccount = measureOne(svm, [world.tokenAccount(epoch.claim(2).wallet, epoch.mint), world.claiming(epoch, 2)], [payer]);
  const settle = measureOne(svm, [world.settling(epoch)], [payer, authority]);
  const close = measureOne(svm, [world.closing(epoch)], [payer], authority);
  const closePage = measureOne(svm, [world.closingPage(epoch, 0)], [payer], authority);
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
export const measure = (times: number): Cost[] => measureAll(runs, times);

if (import.meta.main) printCosts(measure(100));
