import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Keypair } from '@solana/web3.js';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { runDeploy } from '#programs/deploy/main.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';

/** The keys of one deployment. */
export interface DeploymentKeys {
  readonly deployer: Keypair;
  readonly distributor: Keypair;
  readonly draws: Keypair;
  readonly founder: Keypair;
  readonly receiptKey: Keypair;
  readonly feePayer: Keypair;
  readonly epochAuthority: Keypair;
  readonly treasury: Keypair;
  readonly committer: Keypair;
}

/** A configuration, as JSON. */
export interface ConfigurationJson {
  readonly distributor: { readonly program: string; readonly upgradeAuthority: string };
  readonly draws: { readonly program: string; readonly founder: string; readonly receiptKey: string };
  readonly roles: { readonly feePayer: string; readonly epochAuthority: string; readonly treasury: string; readonly committer: string };
  readonly mints: { readonly reward: string; readonly usdc: string };
}

/** A deployment of a test: a configuration in a file, with new keys. */
export interface TestDeployment {
  readonly keys: DeploymentKeys;
  readonly path: string;
  /** Changes the configuration, and writes it to the file. */
  change(change: (configuration: ConfigurationJson) => void): void;
}

/** The result of a command. `error` is the sentence of a command that failed. */
export interface DeployResult {
  readonly status: 0 | 1 | 2;
  readonly printed: string;
  readonly reported: readonly string[];
  readonly error: string | null;
}

/** A cluster and commands that deploy on it. */
export interface DeployTest {
  readonly chain: TestChain;
  readonly node: RpcNode;
  /** Creates the configuration of a new deployment. @param lamports balance of the deployer */
  deployment(lamports?: number): Promise<TestDeployment>;
  /** Runs a command line of bin/deploy. @param node the RPC node; by default that of the configuration */
  run(command: 'plan' | 'apply', deployment: TestDeployment, options?: { flags?: readonly string[]; node?: RpcNode }): Promise<DeployResult>;
  /** Writes a file into the folder of the configurations. @returns the path */
  fileOf(name: string, text: string): string;
  /** Transfers SOL to a key, and waits until the transfer is finalized. */
  fund(key: Keypair, lamports: number): Promise<void>;
  balanceOf(key: Keypair): Promise<number>;
  close(): Promise<void>;
}

/** Starts a cluster without the accounts of the deployments. */
export async function startDeployTest(): Promise<DeployTest> {
  const chain = await startTestChain();
  const node = new RpcNode(chain.localnet.url);
  const folder = mkdtempSync(join(tmpdir(), 'deploy-'));
  const genesisHash = await node.genesisHash();
  const fileOf = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const keyFile = (key: Keypair) => {
    fileOf(`${key.publicKey.toBase58()}.json`, JSON.stringify([...key.secretKey]));
    // A relative path begins at the folder of the configuration.
    return `${key.publicKey.toBase58()}.json`;
  };
  const fund = async (key: Keypair, lamports: number) => {
    await chain.fundWallet({ lamports }, key);
    await chain.control.advance(10);
  };
  return {
    chain,
    node,
    fileOf,
    fund,
    async deployment(lamports = 10_000_000_000) {
      const names = ['deployer', 'distributor', 'draws', 'founder', 'receiptKey', 'feePayer', 'epochAuthority', 'treasury', 'committer'] as const;
      const keys = Object.fromEntries(names.map((name) => [name, Keypair.generate()])) as Record<(typeof names)[number], Keypair>;
      await fund(keys.deployer, lamports);
      const file = (name: (typeof names)[number]) => keyFile(keys[name]);
      const configuration = {
        cluster: genesisHash,
        rpcUrl: chain.localnet.url,
        deployer: file('deployer'),
        distributor: { program: file('distributor'), upgradeAuthority: 'final' },
        draws: { program: file('draws'), founder: file('founder'), receiptKey: keys.receiptKey.publicKey.toBase58() },
        roles: {
          feePayer: file('feePayer'),
          epochAuthority: file('epochAuthority'),
          treasury: keys.treasury.publicKey.toBase58(),
          committer: keys.committer.publicKey.toBase58(),
        },
        mints: { reward: chain.keys.rewardMint.publicKey.toBase58(), usdc: chain.keys.usdcMint.publicKey.toBase58() },
        payoutLanes: 2,
      };
      const path = fileOf(`${keys.deployer.publicKey.toBase58()}.deployment.json`, JSON.stringify(configuration));
      return {
        keys,
        path,
        change(change) {
          change(configuration);
          writeFileSync(path, JSON.stringify(configuration));
        },
      };
    },
    async run(command, { path }, { flags = [], node: other } = {}) {
      const printed: string[] = [];
      const reported: string[] = [];
      const output = { print: (line: string) => void printed.push(line), report: (line: string) => void reported.push(line) };
      try {
        const status = await runDeploy([command, path, ...flags], output, { pollMs: 10, ...(other ? { node: other } : {}) });
        return { status, printed: printed.join('\n'), reported, error: null };
      } catch (error) {
        return { status: 1, printed: printed.join('\n'), reported, error: error instanceof Error ? error.message : String(error) };
      }
    },
    balanceOf: ({ publicKey }) => chain.connection.getBalance(publicKey),
    async close() {
      await chain.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** An RPC node that dies. `sent` counts the transactions that were sent. */
export interface KilledNode {
  readonly node: RpcNode;
  readonly sent: number;
}

/** Wraps an RPC node. Its requests fail from the end of the n-th sent transaction on, as if the process had been killed. */
export function killedAfter(node: RpcNode, n: number): KilledNode {
  let sent = 0;
  const wrapped = new Proxy(node, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        if (sent >= n) throw new Error('killed');
        if (name === 'send') sent++;
        return await Reflect.apply(value, target, args);
      };
    },
  });
  return {
    node: wrapped,
    get sent() {
      return sent;
    },
  };
}
