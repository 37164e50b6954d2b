import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { type FetchedAccount, parseAddress } from '#platform/solana/primitives.ts';
import type { Distribution, DistributionPage } from './distribution.ts';
import { NEVER_WALLETS } from './never-wallets.ts';
import { closeImport, findBuildingImport } from './rows.ts';

/** Maximum rows of an import whose wallets are read from the chain before the response: 100 RPC requests. The job reads those of a larger import. */
const MAX_READ = 10_000;
const ACCOUNTS_PER_REQUEST = 100;
const MAX_CONCURRENT = 4;
/** Maximum wallets that the error sentence names. */
const MAX_REPORTED = 10;

/**
 * Returns whether the wallets of an import are read from the chain before the response. Without a program nothing of an import can be claimed on the
 * chain, so no wallet is read.
 */
export const isReadAtOnce = ({ config }: App, { rows }: Pick<Distribution, 'rows'>): boolean => config.chain.programId === null || rows <= MAX_READ;

/**
 * Refuses wallets that can never claim or use a reward: addresses that hold a program, or an account that belongs to a program of the chain, such as a
 * token account, a mint or an epoch. An off-curve address is accepted when it has no such account, because the distributor pays it as any other wallet,
 * and its program can use the tokens. Does nothing for an import that the job checks.
 * @throws 400 with the first ten of these wallets; 503 when the RPC node does not answer
 */
export async function refuseUnclaimable(
  app: App,
  { rows, pages }: Pick<Distribution, 'rows' | 'pages'>,
  page: (number: number) => Promise<DistributionPage>,
): Promise<void> {
  if (!isReadAtOnce(app, { rows })) return;
  const refused: string[] = [];
  for (let number = 0; number < pages; number++) refused.push(...(await findUnclaimable(app, (await page(number)).wallets.split(','))));
  if (refused.length > 0) throw fail(400, refusalOf(refused));
}

interface UncheckedPage {
  readonly page: number;
  readonly wallets: string;
}
const selectUnchecked = statement<UncheckedPage>(
  'select_unchecked_import_page',
  'select page, wallets from reward_import_pages where import = $1 and not checked order by page limit 1',
);
const markChecked = statement('mark_import_page_checked', 'update reward_import_pages set checked = true where import = $1 and page = $2');

/**
 * Checks the wallets of an import that was too large for its request, page by page. After a crash the next run continues at the first unchecked page. A
 * million wallets take 10,000 RPC requests, of which at most four wait for the request budget at a time. Refuses the import when a page has a wallet
 * that can never claim.
 * @throws 503 when the RPC node does not answer
 */
export async function checkImportedWallets(app: App, epoch: number): Promise<void> {
  const imported = await findBuildingImport(app.db, epoch);
  if (!imported) return;
  const { id } = imported;
  for (;;) {
    const [next] = await app.db.query(selectUnchecked, [id]);
    if (!next) return;
    const refused = await findUnclaimable(app, next.wallets.split(','));
    if (refused.length > 0) return await refuse(app, epoch, id, refusalOf(refused));
    await app.tx((tx) => tx.query(markChecked, [id, next.page]));
  }
}

/** Refuses an import that is still being computed. */
async function refuse(app: App, epoch: number, id: string, reason: string): Promise<void> {
  await app.tx(async (tx) => {
    await tx.query(lockEpoch, [epoch]);
    if ((await findBuildingImport(tx, epoch))?.id === id) await closeImport(tx, id, { refusedBecause: reason });
  });
  app.log.warn({ epoch, reason }, 'an import is refused because wallets can never claim');
}

// The computation of the epoch locks the same row first.
const lockEpoch = statement('lock_epoch_to_refuse_import', 'select from epochs where epoch = $1 for update');

/** Returns those of the wallets that are programs or accounts of programs, in the order of the wallets. */
async function findUnclaimable(app: App, wallets: readonly string[]): Promise<string[]> {
  const { programId, rewardMint, usdcMint } = app.config.chain;
  if (programId === null) return [];
  const ours = new Set([programId, rewardMint, usdcMint]);
  const refused = new Set(wallets.filter((wallet) => ours.has(wallet)));
  const batches = Array.from({ length: Math.ceil(wallets.length / ACCOUNTS_PER_REQUEST) }, (_, i) =>
    wallets.slice(i * ACCOUNTS_PER_REQUEST, (i + 1) * ACCOUNTS_PER_REQUEST),
  ).values();
  await Promise.all(
    Array.from({ length: MAX_CONCURRENT }, async () => {
      for (const batch of batches) {
        const { accounts } = await app.chain.node.accounts(batch.map(parseAddress), 'confirmed');
        for (const [i, wallet] of batch.entries()) if (isHeldByProgram(accounts[i] ?? null, programId)) refused.add(wallet);
      }
    }),
  );
  return wallets.filter((wallet) => refused.has(wallet));
}

function refusalOf(refused: readonly string[]): string {
  const others = refused.length - MAX_REPORTED;
  const more = others > 0 ? `; and ${others} more` : '';
  const named = refused.slice(0, MAX_REPORTED).join(', ');
  return `each wallet of the distribution must be able to claim, but these are programs or their accounts: ${named}${more}`;
}

const SYSTEM_PROGRAM = '11111111111111111111111111111111';

/** Returns whether an account belongs to a program. A program itself belongs to a loader, which is in `NEVER_WALLETS`. */
function isHeldByProgram(account: FetchedAccount, programId: string): boolean {
  if (account === null) return false;
  const owner = account.owner.toBase58();
  return owner === programId || (owner !== SYSTEM_PROGRAM && NEVER_WALLETS.has(owner));
}
