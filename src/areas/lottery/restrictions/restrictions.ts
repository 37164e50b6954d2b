import type { App } from '#platform/app.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { RuleRefusal } from '../entry-rules.ts';

interface Facts {
  readonly wallet: string;
  /** Whether a deny list was ever loaded. */
  readonly loaded: boolean;
  readonly denied: boolean;
  /** End of the self-exclusion of the wallet; null when it has none now. */
  readonly until: string | null;
  readonly banned: boolean;
  /** Whether the wallet accepted the current version of the terms. */
  readonly accepted: boolean;
}
// `offset 0` makes PostgreSQL use one index lookup per wallet in each subquery, even if it planned the statement while the tables were small.
const selectFacts = statement<Facts>(
  'read_restrictions_of_wallets',
  `select k.wallet, exists (select from deny_list) as loaded, d.denied, x.until, b.banned, a.accepted from unnest($1::text[]) as k(wallet),
     lateral (select exists (select from denied_wallets where wallet = k.wallet) as denied offset 0) d,
     lateral (select (select ${instant('until')} from exclusions where wallet = k.wallet and until > (select app_now())) as until offset 0) x,
     lateral (select exists (select from players where wallet = k.wallet and banned_at is not null) as banned offset 0) b,
     lateral (select exists (select from accepted_terms where wallet = k.wallet and version = $2) as accepted offset 0) a`,
);

/**
 * Checks the deny list and the self-exclusions for wallets that pay for a ticket, or that enter a round whose prizes are stablecoin; for a payment also
 * the bans and the terms.
 * @param wallets different wallets
 * @returns the refusal of each wallet that may not; 503 while the configured deny list was never loaded
 */
export async function restrictedWallets(
  { config: { restrictions } }: Pick<App, 'config'>,
  db: Queryable,
  wallets: readonly string[],
  { paying }: { readonly paying: boolean },
): Promise<ReadonlyMap<string, RuleRefusal>> {
  const { denyList, terms } = restrictions;
  const refusalOf = ({ loaded, denied, until, banned, accepted }: Facts): RuleRefusal | null => {
    if (denyList !== null && !loaded) return { status: 503, error: 'the deny list (DENY_LIST) is not loaded yet, try again' };
    if (denyList !== null && denied) return { status: 403, error: 'denyList: the wallet is on the deny list of this service' };
    if (until !== null) return { status: 403, error: `exclusion: the wallet excluded itself until ${until}` };
    if (paying && banned) return { status: 403, error: 'ban: the wallet is banned' };
    if (!paying || terms === null || accepted) return null;
    return { status: 403, error: `terms: the wallet must accept version ${terms.version} of the terms (${terms.url}) with POST /me/terms` };
  };
  const facts = await db.query(selectFacts, [wallets, terms?.version ?? null]);
  return new Map(
    facts.flatMap((one) => {
      const refusal = refusalOf(one);
      return refusal ? [[one.wallet, refusal] as const] : [];
    }),
  );
}

/** Returns the refusal of one wallet that pays for a ticket; null when the wallet may pay. */
export async function paymentRestriction(app: Pick<App, 'config'>, db: Queryable, wallet: string): Promise<RuleRefusal | null> {
  return (await restrictedWallets(app, db, [wallet], { paying: true })).get(wallet) ?? null;
}
