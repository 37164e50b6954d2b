import { z } from 'zod';
import type { App, GaugeReader, GaugeSample } from '#platform/app.ts';
import type { FetchedAccount } from '#platform/solana/primitives.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { type OutflowMarker, readObligations, readOutflowMarker } from './treasury.ts';

/** Expiry of the balances in Redis, seconds. The stored value contains the time of reading, so metrics show how old the balances are. */
const EXPIRY_SEC = 7 * 86_400;
const keyOf = ({ config }: App) => `${config.redis.prefix}:metrics:balances`;

const Balances = z.strictObject({
  /** Time of reading, ms since 1970. */
  at: z.number(),
  /** Lamports. */
  feePayer: z.number(),
  tokens: z.array(z.strictObject({ asset: z.enum(['usdc', 'reward']), held: z.number(), promised: z.number() })),
});

/**
 * Reads the balances of the fee payer and the treasury with one RPC request and stores them in Redis, where the metrics of all processes
 * read them. One worker runs this on a schedule.
 * @throws 503 when the chain is not configured or the RPC node does not answer
 */
export async function storeBalances(app: App): Promise<void> {
  const { chain, redis, clock } = app;
  const treasury = chain.address('treasury');
  const mints = { usdc: chain.usdcMint, reward: chain.rewardMint };
  const addresses = [chain.key('feePayer').publicKey, ...Object.values(mints).map((mint) => associatedTokenAddress(treasury, mint))];
  const marker = await readOutflowMarker(app);
  const [payer, usdc, reward] = (await chain.node.accounts(addresses, 'finalized')).accounts;
  const balances: z.output<typeof Balances> = {
    at: clock.now().getTime(),
    feePayer: payer?.lamports ?? 0,
    tokens: [
      { asset: 'usdc', held: heldIn(usdc), promised: await obligationsOf(app, 'usdc', marker) },
      { asset: 'reward', held: heldIn(reward), promised: await obligationsOf(app, 'reward', marker) },
    ],
  };
  await redis.set(keyOf(app), JSON.stringify(balances), 'EX', EXPIRY_SEC);
}

const heldIn = (account: FetchedAccount | undefined) => Number(decodeTokenAccount(account ?? null)?.amount ?? 0n);
const obligationsOf = async (app: App, asset: 'usdc' | 'reward', marker: OutflowMarker) => Number(await readObligations(app, app.db, asset, marker));

/** Gauges of the balances that a worker last stored. A scrape of these gauges sends no request to the RPC node. */
export const balanceGauges: GaugeReader = {
  cacheMs: 5_000,
  gauges: {
    coinop_chain_balance: 'Finalized balance of the fee payer (lamports) and the treasury (base units), by role and asset.',
    coinop_chain_obligations: 'Treasury tokens that are owed, reserved for rounds, or in outgoing transactions; base units, by asset.',
    coinop_chain_balances_read_timestamp_seconds: 'Time at which a worker last read the balances.',
  },
  async read(app): Promise<GaugeSample[]> {
    const text = await app.redis.get(keyOf(app));
    if (text === null) return [];
    const { at, feePayer, tokens } = Balances.parse(JSON.parse(text));
    return [
      { name: 'coinop_chain_balance', labels: { role: 'fee_payer', asset: 'sol' }, value: feePayer },
      ...tokens.flatMap(({ asset, held, promised }) => [
        { name: 'coinop_chain_balance', labels: { role: 'treasury', asset }, value: held },
        { name: 'coinop_chain_obligations', labels: { asset }, value: promised },
      ]),
      { name: 'coinop_chain_balances_read_timestamp_seconds', value: at / 1_000 },
    ];
  },
};
