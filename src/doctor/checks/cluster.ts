import { CLOCK, clockTime } from '#areas/lottery';
import { type Check, type Finding, ok, reasonOf, warning, wrong, wrongInProduction } from '#doctor/check.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import type { RpcNode } from '#platform/solana/rpc-node.ts';

/** Genesis hashes of the public clusters, by the value of SIGN_IN_CHAIN. */
const GENESIS: Readonly<Record<string, string>> = {
  mainnet: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
  testnet: '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY',
  devnet: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
};
/** History that production should have, slots: a day with slots of 400 ms. */
const MIN_HISTORY_SLOTS = 216_000;
/** Maximum difference of two clocks, ms. Commitments are not signed while the clock of the cluster differs by more. */
const MAX_SKEW_MS = 10_000;

/** Returns the configured RPC nodes with the names of their settings. */
const nodesOf = ({ chain }: App): readonly { readonly setting: string; readonly node: RpcNode }[] => [
  { setting: 'SOLANA_RPC_URL', node: chain.node },
  ...(chain.second === null ? [] : [{ setting: 'SOLANA_RPC_SECOND_URL', node: chain.second }]),
];

/** Checks whether each RPC node answers and belongs to the configured cluster. */
export const rpc: Check = {
  name: 'rpc',
  settings: ['SOLANA_RPC_URL', 'SOLANA_RPC_SECOND_URL', 'SIGN_IN_CHAIN'],
  remedy: 'Correct SOLANA_RPC_URL.',
  async run(app) {
    const { chain: cluster } = app.config.signIn;
    const expected = GENESIS[cluster];
    const hashes = await Promise.all(
      nodesOf(app).map(async ({ setting, node }) => ({
        setting,
        hash: await node.genesisHash().catch((error: unknown) => ({ failure: reasonOf(error) })),
      })),
    );
    const findings = hashes.map(({ setting, hash }): Finding => {
      if (typeof hash !== 'string') return wrong(`${setting} does not answer: ${hash.failure}`, `Correct ${setting}, or use another provider.`);
      const name = Object.keys(GENESIS).find((one) => GENESIS[one] === hash) ?? `a cluster with the genesis hash ${hash}`;
      if (hash === expected || (expected === undefined && !Object.values(GENESIS).includes(hash))) return ok(`${setting} answers for ${cluster}`);
      return wrongInProduction(app, `${setting} leads to ${name}, but SIGN_IN_CHAIN is ${cluster}`, `Correct ${setting} or SIGN_IN_CHAIN.`);
    });
    if (new Set(hashes.flatMap(({ hash }) => (typeof hash === 'string' ? hash : []))).size > 1) {
      findings.push(wrong('SOLANA_RPC_URL and SOLANA_RPC_SECOND_URL lead to different clusters', 'Set both to RPC nodes of one cluster.'));
    }
    if (hashes.length === 1) {
      const what = 'SOLANA_RPC_SECOND_URL is not set, so one provider alone decides what is final';
      findings.push(app.config.production ? warning(what, 'Set it to an RPC node of another provider.') : ok(what));
    }
    return findings;
  },
};

const oldestPending = statement<{ slot: number | null }>(
  'doctor_oldest_pending',
  `select min(signed_slot)::float8 as slot from chain_attempts where state in ('signed', 'sent', 'confirmed')`,
);

/** Checks whether the RPC nodes have the history with which pending transactions are proven final or expired. */
export const history: Check = {
  name: 'rpc-history',
  settings: ['SOLANA_RPC_URL', 'SOLANA_RPC_SECOND_URL', 'DATABASE_URL'],
  remedy: 'Correct DATABASE_URL and SOLANA_RPC_URL.',
  async run(app) {
    const [nodes, pending] = await Promise.all([
      Promise.all(
        nodesOf(app).map(async ({ setting, node }) => {
          const [first, last] = await Promise.all([node.firstBlock(), node.finalizedSlot()]);
          return { setting, first, slots: last - first };
        }),
      ),
      app.db.query(oldestPending),
    ]);
    const needed = pending[0]?.slot ?? null;
    return nodes.map(({ setting, first, slots }) => {
      const remedy = `Set ${setting} to an RPC node with more history.`;
      if (needed !== null && first > needed) {
        const what = `the history of ${setting} begins at slot ${first}, but a pending transaction was signed at slot ${needed}`;
        return wrong(what, remedy);
      }
      const what = `the history of ${setting} has ${slots} slots`;
      return app.config.production && slots < MIN_HISTORY_SLOTS ? warning(`${what}, which is less than a day`, remedy) : ok(what);
    });
  },
};

const readNow = statement<{ ms: number }>('doctor_clock', 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms');

/** Checks whether the clocks of this machine, of PostgreSQL and of the cluster agree. */
export const clocks: Check = {
  name: 'clocks',
  settings: ['DATABASE_URL', 'SOLANA_RPC_URL', 'CLOCK_OFFSET_SEC'],
  remedy: 'Correct DATABASE_URL and SOLANA_RPC_URL.',
  async run(app) {
    const machine = () => app.clock.now().getTime() - app.config.clockOffsetMs;
    /** Returns the time of another clock, less its intended offset and the time of this machine in the middle of the request, ms. */
    const skewOf = async (read: () => Promise<number>, offsetMs: number): Promise<number> => {
      const begin = machine();
      const time = await read();
      return time - offsetMs - (begin + machine()) / 2;
    };
    const others = [
      { name: 'of PostgreSQL', offsetMs: 0, read: async () => (await app.db.query(readNow))[0]?.ms ?? Number.NaN },
      {
        name: 'of the cluster',
        // Only development has an offset, and `bin/dev` sets it on its localnet too.
        offsetMs: app.config.clockOffsetMs,
        read: async () => clockTime((await app.chain.node.account(CLOCK, 'confirmed')).account),
      },
    ];
    return await Promise.all(
      others.map(async ({ name, offsetMs, read }): Promise<Finding> => {
        const skew = await skewOf(read, offsetMs).catch((error: unknown) => reasonOf(error));
        if (typeof skew === 'string') return warning(`the clock ${name} cannot be read: ${skew}`, 'Correct the dependency, then check again.');
        const what = `the clock ${name} differs from the clock of this machine by ${(skew / 1_000).toFixed(1)} s`;
        return Math.abs(skew) > MAX_SKEW_MS
          ? wrong(what, 'Synchronize the clocks of the machines by NTP; a halted cluster resumes by itself.')
          : ok(what);
      }),
    );
  },
};
