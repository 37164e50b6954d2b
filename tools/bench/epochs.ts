import { createHash, randomBytes } from 'node:crypto';
import { get } from 'node:http';
import { gzipSync } from 'node:zlib';
import { SimpleMerkleTree } from '@openzeppelin/merkle-tree';
import { MerkleTree } from 'merkletreejs';
import { type System, startSystem } from '#dev/stack/system.ts';
import { buildTree, hashLeaves } from '#lib/merkle.ts';
import {
  anyWallets,
  asAdmin,
  computeDay,
  EPOCH_QUEUES,
  type Latencies,
  peakMemory,
  probe,
  readEpoch,
  seedDay,
  untilComputed,
  urlOf,
} from './support/days.ts';
import { report, reportUnavailable } from './support/report.ts';

/**
 * This benchmark measures a reward epoch of a million wallets: one worker computes the epoch, a client downloads the file of its leaves, and the
 * service imports another epoch. During each step it measures the latency of other API requests. Before these steps it compares our Merkle tree with
 * two well-known implementations.
 */

const WALLETS = Number(process.env.BENCH_WALLETS ?? 1_000_000);
/**
 * Numbers of leaves with which the other Merkle tree implementations are measured, because a million leaves would take them a gigabyte of memory or
 * several minutes. The comparison of the times per leaf is fair, because the time per leaf of these implementations does not fall with more leaves.
 */
const PEER_LEAVES = { merkletreejs: 100_000, '@openzeppelin/merkle-tree': 20_000 };
const TARGET = { seconds: 15, megabytes: 1_024, p99: 50, times: 20 };
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

/** Measures our tree with all leaves and the other trees with fewer leaves, and compares the times per leaf. */
function trees(): void {
  const hashes = new Uint8Array(32 * WALLETS);
  const wallets = new Uint8Array(randomBytes(32 * WALLETS));
  const amounts = new BigUint64Array(WALLETS).fill(1_000_000n);
  const hashing = timed(() => hashLeaves(DAY, 0, wallets, amounts, hashes));
  const building = timed(() => buildTree(hashes));
  report(`tree of ${WALLETS} leaves`, building.ms, 'ms');
  report('hashes of its leaves', hashing.ms, 'ms');

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
    const times = theirs.ms / count / (building.ms / WALLETS);
    report(`a leaf of the tree: ${name}, ${count} leaves`, times, '× ours', { atLeast: TARGET.times });
  }
}

async function computed(of: System): Promise<void> {
  await seedDay(of, DAY, anyWallets(WALLETS));
  const { result: seconds, probed } = await probe(of, () => computeDay(of, DAY));
  const epoch = await readEpoch(of, DAY);
  const memory = peakMemory(of.workers[0]?.pid ?? 0);
  report(`epoch of ${WALLETS} wallets, ${epoch?.leaves} leaves, stored`, seconds, 's', { atMost: TARGET.seconds });
  reportMemory('peak memory of the worker that computed it', memory);
  reportProbe('API latency during the computation', probed);
}

async function read(of: System): Promise<void> {
  const { result, probed } = await probe(of, async () => {
    const begin = performance.now();
    const size = await sizeOf(`${urlOf(of)}/api/rewards/epoch/${DAY}/leaves`);
    return { size, seconds: (performance.now() - begin) / 1_000 };
  });
  report(`file of its leaves, ${Math.round(result.size / 1e6)} MB`, result.seconds, 's');
  reportMemory('peak memory of the API that sent it', peakMemory(of.apis[0]?.pid ?? 0));
  reportProbe('API latency during the download', probed);
}

/**
 * Measures the import of an epoch. The day of the imported epoch is before the first closed day, because workers compute the epochs of the first
 * closed day and of later days automatically, and a computed epoch cannot be imported.
 */
async function imported(of: System): Promise<void> {
  const lines = [JSON.stringify({ epoch: DAY - 1 }), ...anyWallets(WALLETS).map((wallet) => JSON.stringify({ wallet, amount: '1000' }))];
  const body = gzipSync(lines.join('\n'), { level: 1 });
  const headers = { 'Content-Type': 'application/x-ndjson', 'Content-Encoding': 'gzip', Prefer: 'wait=0' };
  const { result, probed } = await probe(of, async () => {
    const begin = performance.now();
    const response = await asAdmin(of, '/api/rewards/epoch/import', { method: 'POST', body, headers });
    const answered = (performance.now() - begin) / 1_000;
    if (response.status !== 202) throw new Error(`the request to import an epoch returned ${response.status}: ${await response.text()}`);
    await untilComputed(of, DAY - 1);
    return { answered, seconds: (performance.now() - begin) / 1_000 };
  });
  report(`import of ${WALLETS} rows, ${Math.round(body.length / 1e6)} MB: read and stored`, result.answered, 's');
  report('the same import until computed', result.seconds, 's');
  reportMemory('peak memory of the API that read it', peakMemory(of.apis[0]?.pid ?? 0));
  reportMemory('peak memory of the worker that computed it', peakMemory(of.workers[0]?.pid ?? 0));
  reportProbe('API latency during the import', probed);
}

/**
 * Downloads a response and returns its size, bytes. This function uses little CPU time, because it shares the machine with the measured processes.
 */
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

/** Runs `work` three times. Returns the duration and the result of the fastest run. */
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
  throw new Error('a node of the tree must be hex text or bytes');
}

function reportMemory(what: string, megabytes: number | null): void {
  if (megabytes === null) reportUnavailable(what, 'not reported by this operating system');
  else report(what, megabytes, 'MB', { atMost: TARGET.megabytes });
}

function reportProbe(what: string, { p50, p99, max }: Latencies): void {
  report(`${what}: p50`, p50, 'ms');
  report(`${what}: p99`, p99, 'ms', { atMost: TARGET.p99 });
  report(`${what}: max`, max, 'ms');
}
