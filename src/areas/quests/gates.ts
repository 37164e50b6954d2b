import { z } from 'zod';
import { type EntryBalance, EntryRuleTerms, type RuleRefusal, readBalanceOf, refusedWallets } from '#areas/lottery';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import type { Queryable } from '#platform/db/sql.ts';

/** Terms that a wallet must meet to complete a quest, besides its requirement. A term that is absent does not apply. */
export const QuestGates = z
  .strictObject({
    ...EntryRuleTerms.shape,
    linkedAccount: EntryRuleTerms.shape.linkedAccount.meta({ description: 'The wallet has linked an account of this network.', example: 'x' }),
  })
  .meta({
    id: 'QuestGates',
    description:
      'Terms that a wallet must meet to complete the quest, besides the requirement. A completion that waits for a gate follows with the next activity of the wallet after it meets the gate.',
    example: { minAcceptedScores: 3 },
  });
export type QuestGates = z.output<typeof QuestGates>;

/** A quest with gates, or without. A definition that an earlier release stored has no field `gates`. */
interface Gated {
  readonly definition: { readonly gates?: QuestGates | undefined };
}

/** Returns whether a quest has a gate. */
export const hasGates = ({ definition: { gates } }: Gated): boolean => gates !== undefined && Object.keys(gates).length > 0;

/** Balances of wallets, for the gates of quests. */
export type GateBalances = ReadonlyMap<string, EntryBalance>;

const keyOf = (wallet: string, mint: string) => `${wallet} ${mint}`;

/** Returns the address of the token that a quest requires; null when it requires none, or when the token is not configured. */
function mintOf({ config: { chain } }: Pick<App, 'config'>, { definition: { gates } }: Gated): string | null {
  const token = gates?.minTokenBalance?.mint;
  if (token === undefined) return null;
  return token === 'usdc' ? chain.usdcMint : chain.rewardMint;
}

/** Checks the token of the gates of a quest. @throws 400 when the token is not configured, because no wallet could complete the quest */
export function checkGates(app: Pick<App, 'config'>, { gates }: Gated['definition']): void {
  const token = gates?.minTokenBalance?.mint;
  if (token !== undefined && mintOf(app, { definition: { gates } }) === null) {
    throw fail(400, `gates.minTokenBalance.mint must not be ${token}, because this token is not configured`);
  }
}

/**
 * Reads the balances that the gates of quests need. Precondition: no open transaction, because this function may wait for the RPC node.
 * @returns the balances that are known
 */
export async function readGateBalances(app: App, quests: readonly Gated[], wallets: readonly string[]): Promise<GateBalances> {
  const mints = [...new Set(quests.flatMap((quest) => mintOf(app, quest) ?? []))];
  const pairs = wallets.flatMap((wallet) => mints.map((mint) => ({ wallet, mint })));
  const balances = await Promise.all(pairs.map(({ wallet, mint }) => readBalanceOf(app, wallet, mint)));
  return new Map(
    pairs.flatMap(({ wallet, mint }, i) => {
      const balance = balances[i];
      return balance ? [[keyOf(wallet, mint), balance] as const] : [];
    }),
  );
}

/**
 * Checks the gates of quests.
 * @returns for each item, in their order: the gate that the wallet does not meet (403), or that cannot be checked (503); null when it meets all
 */
export async function gateRefusals(
  app: Pick<App, 'config'>,
  db: Queryable,
  items: readonly { readonly wallet: string; readonly quest: Gated }[],
  balances: GateBalances,
): Promise<(RuleRefusal | null)[]> {
  const byQuest = Map.groupBy(
    items.filter(({ quest }) => hasGates(quest)),
    ({ quest }) => quest,
  );
  const refused = new Map<Gated, ReadonlyMap<string, RuleRefusal>>();
  for (const [quest, members] of byQuest) {
    const mint = mintOf(app, quest) ?? '';
    const wallets = members.map(({ wallet }) => [wallet, balances.get(keyOf(wallet, mint)) ?? null] as const);
    refused.set(quest, await refusedWallets(db, rulesOf(quest, mint), null, new Map(wallets)));
  }
  return items.map(({ wallet, quest }) => refused.get(quest)?.get(wallet) ?? null);
}

const rulesOf = ({ definition: { gates } }: Gated, mint: string) => ({
  minTokenBalance: gates?.minTokenBalance ? { amount: gates.minTokenBalance.amount, mint } : null,
  minAcceptedScores: gates?.minAcceptedScores ?? null,
  linkedAccount: gates?.linkedAccount ?? null,
  signedInBefore: gates?.signedInBefore ?? null,
});
