import { lockPlayers } from '#areas/points';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { instant, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { newCode } from './codes.ts';

/** How many links a wallet may have; the table says the same. */
export const MOST_LINKS = 20;
/** Codes that may be taken in a row before something else is wrong. */
const MOST_TRIES = 10;

export interface ReferralLink {
  readonly code: string;
  readonly createdAt: string;
}

/** SQL of an instant as it is told. */
const COLUMNS = `n, code, ${instant('created_at')} as "createdAt"`;

const newest = statement<ReferralLink & { n: number }>(
  'newest_referral_link',
  `select ${COLUMNS} from referral_links where wallet = $1 order by n desc limit 1`,
);
const insert = statement<ReferralLink & { n: number }>(
  'insert_referral_link',
  `insert into referral_links (wallet, n, code) values ($1, $2, $3) on conflict do nothing returning ${COLUMNS}`,
);

/** The link of a wallet, the newest of those that it has; made where it has none. */
export async function findOrMakeLink(app: App, wallet: string): Promise<ReferralLink> {
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
 * Makes a new link, which becomes the wallet's; the codes of the others go on working.
 * @throws 409 where the wallet has as many as it may have
 */
export async function makeLink(tx: Tx, wallet: string, codes: () => string = newCode): Promise<ReferralLink> {
  await lockPlayers(tx, [wallet]);
  const n = 1 + ((await tx.query(newest, [wallet]))[0]?.n ?? 0);
  if (n > MOST_LINKS) throw fail(409, `a wallet may have at most ${MOST_LINKS} referral links`);
  return await insertLink(tx, wallet, n, codes);
}

async function insertLink(tx: Tx, wallet: string, n: number, codes: () => string): Promise<ReferralLink> {
  for (let i = 0; i < MOST_TRIES; i++) {
    const [link] = await tx.query(insert, [wallet, n, codes()]);
    if (link) return link;
  }
  throw new Error('no referral code is free');
}

/** The address that people open. */
export const urlOf = (publicUrl: URL, code: string): string => `${publicUrl.href.replace(/\/$/, '')}/?ref=${code}`;
