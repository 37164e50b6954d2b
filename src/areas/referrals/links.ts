import { lockPlayers } from '#areas/points';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { instant, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { newCode } from './codes.ts';

/** Maximum links per wallet. A check constraint of the table enforces the same limit. */
export const MAX_LINKS = 20;
/** Maximum attempts to generate a code that does not exist yet. */
const MAX_ATTEMPTS = 10;

export interface ReferralLink {
  readonly code: string;
  readonly createdAt: string;
}

const COLUMNS = `n, code, ${instant('created_at')} as "createdAt"`;

const newest = statement<ReferralLink & { n: number }>(
  'newest_referral_link',
  `select ${COLUMNS} from referral_links where wallet = $1 order by n desc limit 1`,
);
const insert = statement<ReferralLink & { n: number }>(
  'insert_referral_link',
  `insert into referral_links (wallet, n, code) values ($1, $2, $3) on conflict do nothing returning ${COLUMNS}`,
);

/** Returns the newest link of a wallet. Creates a link when the wallet has none. */
export async function findOrCreateLink(app: App, wallet: string): Promise<ReferralLink> {
  const [link] = await app.db.query(newest, [wallet]);
  return (
    link ??
    (await app.tx(async (tx) => {
      await lockPlayers(tx, [wallet]);
      const [first] = await tx.query(newest, [wallet]);
      return first ?? (await insertLink(tx, wallet, 1, newCode));
    }))
  );
}

/**
 * Creates a new link, which replaces the link that the wallet shares. The codes of older links stay valid.
 * @throws 409 when the wallet has `MAX_LINKS` links already
 */
export async function createLink(tx: Tx, wallet: string, generateCode: () => string = newCode): Promise<ReferralLink> {
  await lockPlayers(tx, [wallet]);
  const n = 1 + ((await tx.query(newest, [wallet]))[0]?.n ?? 0);
  if (n > MAX_LINKS) throw fail(409, `a wallet may have at most ${MAX_LINKS} referral links`);
  return await insertLink(tx, wallet, n, generateCode);
}

async function insertLink(tx: Tx, wallet: string, n: number, generateCode: () => string): Promise<ReferralLink> {
  for (let i = 0; i < MAX_ATTEMPTS; i++) {
    const [link] = await tx.query(insert, [wallet, n, generateCode()]);
    if (link) return link;
  }
  throw new Error('no free referral code was found');
}

/** Returns the URL of a link. */
export const urlOf = (publicUrl: URL, code: string): string => `${publicUrl.href.replace(/\/$/, '')}/?ref=${code}`;
