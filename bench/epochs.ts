import { createHash, randomBytes } from 'node:crypto';
import { get } from 'node:http';
import { gzipSync } from 'node:zlib';
import { SimpleMerkleTree } from '@openzeppelin/merkle-tree';
import { MerkleTree } from 'merkletreejs';
import { buildTree, hashLeaves } from '../src/lib/merkle.ts';
import { type System, startSystem } from '../stack/system.ts';
import { anyWallets, asAdmin, computeDay, EPOCH_QUEUES, type Probed, peakMemory, probe, readEpoch, seedDay, untilComputed, urlOf } from './days.ts';

/**
 * A reward epoch of a million wallets: computed by one worker, its file read by a client, another one imported; with what
 * callers of the API notice meanwhile. Then its tree alone, side by side with two well-known implementations.
 */
const WALLETS = Number(process.env.BENCH_WALLETS ?? 1_000_000);
/** Fewer leaves for the peers: they take a gigabyte, or minutes, for a million. Their time grows as the number does, or faster. */
const PEER_LEAVES = { merkletreejs: 100_000, '@openzeppelin/merkle-tree': 20_000 };
const TARGET = { seconds: 15, megabytes: 1_024, p99: 50, ratio: 20 };
const DAY = 20_000;

trees();
const system = await startSystem({ durable: true, env: EPOCH_QUEUES });
try {
  await computed(system);
  await read(system);
  await imported(system);
} finally {
  await system.stop();
}

/** Ours for all, theirs for as many as they take, and per leaf. */
function trees(): void {
  const hashes = new Uint8Array(32 * WALLETS);
  const wallets = new Uint8Array(randomBytes(32 * WALLETS));
  const amounts = new BigUint64Array(WALLETS).fill(1_000_000n);
  const hashing = timed(() => hashLeaves(DAY, 0, wallets, amounts, hashes));
  const building = timed(() => buildTree(hashes));
  console.log(`tree of ${WALLETS} leaves: ${ms(building.ms)}, and ${ms(hashing.ms)} for the hashes of its leaves`);

  const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest();
  const hex = (data: Uint8Array) => `0x${Buffer.from(data).toString('hex')}`;
  const nodeHash = (a: unknown, b: unknown) => hex(sha256(Buffer.concat([bytes(a), bytes(b)].sort(Buffer.compare))));
  const peers = {
    merkletreejs: (leaves: Buffer[]) => void new MerkleTree(leaves, sha256, { sortPairs: true }),
    '@openzeppelin/merkle-tree': (leaves: Buffer[]) => void SimpleMerkleTree.of(leaves.map(hex), { nodeHash }),
  };
  for (const name of ['merkletreejs', '@openzeppelin/merkle-tree'] as const) {
    const count = Math.min(WALLETS, PEER_LEAVES[name]);
    const leaves = Array.from({ length: count }, (_, i) => Buffer.from(hashes.subarray(32 * i, 32 * i + 32)));
    const theirs = timed(() => peers[name](leaves));
    const ratio = theirs.ms / count / (building.ms / WALLETS);
    console.log(
      `  ${name} with createHash('sha256'), ${count} leaves: ${ms(theirs.ms)}; per leaf ${times(ratio)} ours (${times(ratio / TARGET.ratio)} of the target)`,
    );
  }
}

async function computed(of: System): Promise<void> {
  console.log(`seeding ${WALLETS} wallets, ${Math.round(WALLETS * 1.5)} ledger rows`);
  await seedDay(of, DAY, anyWallets(WALLETS));
  const { result: seconds, probed } = await probe(of, () => computeDay(of, DAY));
  const epoch = await readEpoch(of, DAY);
  const memory = peakMemory(of.workers[0]?.pid ?? 0);
  console.log(
    `computed: ${epoch?.leaves} leaves in ${seconds.toFixed(1)} s (${times(seconds / TARGET.seconds)} of the limit), ` +
      `worker at most ${memory ?? '?'} MB (${times((memory ?? 0) / TARGET.megabytes)} of the limit)\n  API meanwhile: ${shown(probed)}`,
  );
}

async function read(of: System): Promise<void> {
  const { result, probed } = await probe(of, async () => {
    const begin = performance.now();
    const size = await sizeOf(`${urlOf(of)}/api/rewards/epoch/${DAY}/leaves`);
    return { size, seconds: (performance.now() - begin) / 1_000 };
  });
  const memory = peakMemory(of.apis[0]?.pid ?? 0);
  console.log(
    `file of leaves: ${Math.round(result.size / 1e6)} MB in ${result.seconds.toFixed(1)} s, API at most ${memory ?? '?'} MB\n  API meanwhile: ${shown(probed)}`,
  );
}

/** Of a day before the first: those since are computed by themselves as soon as they are closed. */
async function imported(of: System): Promise<void> {
  const lines = [JSON.stringify({ epoch: DAY - 1 }), ...anyWallets(WALLETS).map((wallet) => JSON.stringify({ wallet, amount: '1000' }))];
  const body = gzipSync(lines.join('\n'), { level: 1 });
  const headers = { 'Content-Type': 'application/x-ndjson', 'Content-Encoding': 'gzip', Prefer: 'wait=0' };
  const { result, probed } = await probe(of, async () => {
    const begin = performance.now();
    const response = await asAdmin(of, '/api/rewards/epoch/import', { method: 'POST', body, headers });
    const answered = (performance.now() - begin) / 1_000;
    if (response.status !== 202) throw new Error(`the import answered ${response.status}: ${await response.text()}`);
    await untilComputed(of, DAY - 1);
    return { answered, seconds: (performance.now() - begin) / 1_000 };
  });
  const [api, worker] = [peakMemory(of.apis[0]?.pid ?? 0), peakMemory(of.workers[0]?.pid ?? 0)];
  console.log(
    `import of ${WALLETS} rows, ${Math.round(body.length / 1e6)} MB: read and stored in ${result.answered.toFixed(1)} s, computed after ${result.seconds.toFixed(1)} s, ` +
      `API at most ${api ?? '?'} MB, worker ${worker ?? '?'} MB\n  API meanwhile: ${shown(probed)}`,
  );
}

/** Reads an answer as cheaply as can be: what is measured shares this process. */
function sizeOf(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
      });
      response.on('end', () => resolve(size));
      response.on('error', reject);
    }).on('error', reject);
  });
}

/** The best of three. */
function timed<T>(work: () => T): { ms: number; result: T } {
  const once = () => {
    const begin = performance.now();
    const result = work();
    return { ms: performance.now() - begin, result };
  };
  return [once(), once()].reduce((best, next) => (next.ms < best.ms ? next : best), once());
}

function bytes(node: unknown): Buffer {
  if (typeof node === 'string') return Buffer.from(node.slice(2), 'hex');
  if (node instanceof Uint8Array) return Buffer.from(node);
  throw new Error('a node is hex or bytes');
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}

function times(x: number): string {
  return `${x.toFixed(2)}×`;
}

function shown({ requests, p50, p99, max }: Probed): string {
  return `${requests} requests, p50 ${p50} ms, p99 ${p99} ms (${times(p99 / TARGET.p99)} of the limit), max ${max} ms`;
}
