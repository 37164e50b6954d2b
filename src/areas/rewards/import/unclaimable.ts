import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { type FetchedAccount, parseAddress } from '#platform/solana/primitives.ts';
import type { Distribution, DistributionPage } from './distribution.ts';
import { NEVER_WALLETS } from './never-wallets.ts';

/**
 * Maximum rows of an import whose wallets are read from the chain: 100 RPC requests. The wallets of a larger import are only compared with
 * `NEVER_WALLETS`.
 */
const MAX_READ = 10_000;
const ACCOUNTS_PER_REQUEST = 100;
const MAX_CONCURRENT = 4;
/** Maximum wallets that the error sentence names. */
const MAX_REPORTED = 10;

/**
 * Refuses wallets that can never claim or use a reward: addresses that hold a program, or an account that belongs to a program of the chain, such as a
 * token account, a mint or an epoch. An off-curve address is accepted when it has no such account, because the distributor pays it as any other wallet.
 * @throws 400 with the first ten of these wallets; 503 when the RPC node does not answer
 */
export async function refuseUnclaimable(
  app: App,
  { rows, pages }: Pick<Distribution, 'rows' | 'pages'>,
  page: (number: number) => Promise<DistributionPage>,
): Promise<void> {
  const { programId, rewardMint, usdcMint } = app.config.chain;
  // Without a program nothing of this import can be claimed on the chain.
  if (programId === null || rows > MAX_READ) return;
  const wallets: string[] = [];
  for (let number = 0; number < pages; number++) wallets.push(...(await page(number)).wallets.split(','));
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
  if (refused.size === 0) return;
  const named = wallets.filter((wallet) => refused.has(wallet)).slice(0, MAX_REPORTED);
  const others = refused.size - named.length;
  const more = others > 0 ? `; and ${others} more` : '';
  throw fail(400, `each wallet of the distribution must be able to claim, but these are programs or their accounts: ${named.join(', ')}${more}`);
}

const SYSTEM_PROGRAM = '11111111111111111111111111111111';

/** Returns whether an account belongs to a program. A program itself belongs to a loader, which is in `NEVER_WALLETS`. */
function isHeldByProgram(account: FetchedAccount, programId: string): boolean {
  if (account === null) return false;
  const owner = account.owner.toBase58();
  return owner === programId || (owner !== SYSTEM_PROGRAM && NEVER_WALLETS.has(owner));
}
