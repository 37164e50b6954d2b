import { z } from 'zod';
import type { App } from '#platform/app.ts';
import type { Reading, Sample } from '#platform/observability/metrics/gauge-reader.ts';
import { rpc } from '#platform/solana/solana.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { type Moment, momentBefore, promised } from './index.ts';

/** How long what was read is told when nobody reads it anew: with its time, so that it is known to be old; seconds. */
const KEPT_SEC = 7 * 86_400;
const keyOf = ({ config }: App) => `${config.redis.prefix}:metrics:balances`;

const Balances = z.strictObject({
  /** ms since 1970. */
  at: z.number(),
  /** Lamports. */
  feePayer: z.number(),
  tokens: z.array(z.strictObject({ asset: z.enum(['usdc', 'reward']), held: z.number(), promised: z.number() })),
});

/**
 * Asks the chain, in one question, what the fee payer and the treasury hold, and leaves it in Redis for all processes' scrapes.
 * For one worker now and then. @throws 503 where the chain is not configured, or does not answer
 */
export async function rememberBalances(app: App): Promise<void> {
  const { chain, redis, clock } = app;
  const treasury = chain.address('treasury');
  const mints = { usdc: chain.usdcMint, reward: chain.rewardMint };
  const addresses = [chain.key('feePayer').publicKey, ...Object.values(mints).map((mint) => associatedTokenAddress(treasury, mint))];
  const before = await momentBefore(app);
  const [payer, usdc, reward] = await rpc(() => chain.connection.getMultipleAccountsInfo(addresses, 'finalized'));
  const balances: z.output<typeof Balances> = {
    at: clock.now().getTime(),
    feePayer: payer?.lamports ?? 0,
    tokens: [
      { asset: 'usdc', held: heldIn(usdc), promised: await promisedOf(app, 'usdc', before) },
      { asset: 'reward', held: heldIn(reward), promised: await promisedOf(app, 'reward', before) },
    ],
  };
  await redis.set(keyOf(app), JSON.stringify(balances), 'EX', KEPT_SEC);
}

const heldIn = (account: Parameters<typeof decodeTokenAccount>[0] | undefined) => Number(decodeTokenAccount(account ?? null)?.amount ?? 0n);
const promisedOf = async (app: App, asset: 'usdc' | 'reward', since: Moment) => Number(await promised(app, app.db, asset, since));

/** What a worker last read of the chain: no scrape asks a node. */
export const balances: Reading = {
  keepMs: 5_000,
  gauges: {
    coinop_chain_balance: 'What the fee payer (lamports) and the treasury (base units) hold, finally, by role and asset.',
    coinop_chain_promised: 'What of the treasury is owed, reserved for rounds, or leaving; base units by asset.',
    coinop_chain_balances_read_timestamp_seconds: 'When a worker last read the balances.',
  },
  async read(app): Promise<Sample[]> {
    const text = await app.redis.get(keyOf(app));
    if (text === null) return [];
    const { at, feePayer, tokens } = Balances.parse(JSON.parse(text));
    return [
      { name: 'coinop_chain_balance', labels: { role: 'fee_payer', asset: 'sol' }, value: feePayer },
      ...tokens.flatMap(({ asset, held, promised }) => [
        { name: 'coinop_chain_balance', labels: { role: 'treasury', asset }, value: held },
        { name: 'coinop_chain_promised', labels: { asset }, value: promised },
      ]),
      { name: 'coinop_chain_balances_read_timestamp_seconds', value: at / 1_000 },
    ];
  },
};
