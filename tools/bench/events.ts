import { setTimeout as sleep } from 'node:timers/promises';
import { notification } from '#areas/social/events.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import { type System, startSystem } from '#dev/stack/system.ts';
import type { App } from '#platform/app.ts';
import { openFileLimit } from '#platform/events/open-files.ts';
import { secondsOf } from './support/cpu.ts';
import { percentiles } from './support/load.ts';
import { COLLECTOR_OPTIONS, collectedBytes } from './support/memory.ts';
import { type Against, report, reportUnavailable } from './support/report.ts';
import { SentEvents } from './support/streams/sent-events.ts';
import { type Streamer, startBareStream, startBareWriter, startNchan } from './support/streams/servers.ts';
import { type Subscribers, startSubscribers, untilDelivered } from './support/streams/subscribers.ts';
import { SESSION_KEY, signedInWallets } from './support/wallets.ts';

/**
 * This benchmark measures the event stream with thousands of subscribers on one API process: memory per subscriber, delay from the commit of an event
 * to its delivery, and lost events while connections are cut and the API process is replaced. It compares the stream with a minimal node:http server
 * and with nchan, a module of nginx. Then it measures the delivery by two API processes, each with half of the subscribers, and by two processes that
 * only write, which show the limit of the machine. One worker, PostgreSQL, Redis, all subscribers and the senders share one machine.
 */

/** Numbers of subscribers to measure. With ten subscribers, almost all of the delay comes from the commit, the publication and the stream. */
const SUBSCRIBERS = numbers(process.env.BENCH_SUBSCRIBERS ?? '10,5000,10000');
const RATES = (process.env.BENCH_RATES ?? '2,100').split(',').map(Number);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);
/** Numbers of subscribers to measure on two API processes, and the maximum p99 of each, ms. A second process of subscribers serves the second API process. */
const ON_TWO = numbers(process.env.BENCH_SUBSCRIBERS_ON_TWO ?? '10000,20000');
const TARGETS_ON_TWO: Readonly<Record<number, number>> = { 10000: 200 };
/** Maximum p99 of two API processes, as a multiple of the p99 of two bare writers in the same run. */
const MAX_MULTIPLE = 1.5;
/** Streams per wallet: half of the maximum, because a stream counts until the service notices that its connection was cut. */
const STREAMS_PER_WALLET = 10;
const KILLS_PER_SEC = 200;
const TARGET = { kb: 20, p99: 300 };
const OURS = 'coinop';
const STREAM_PATH = '/events?categories=system';
const SETTLE_MS = 1_500;
/**
 * Number of connections that are opened and closed before memory is measured. Later connections reuse the memory of these connections, so the result
 * does not include this memory.
 */
const WARMUP = 200;

const subscribers = startSubscribers();
const sent = new SentEvents();

// Returns the file limit (maximum open files) that the API process needs for `count` streams. The process accepts streams until only a quarter of its
// file limit is free.
const needed = (count: number) => Math.ceil(count / 0.75) + 100;
const possible = SUBSCRIBERS.filter((count) => openFileLimit() >= needed(count));
for (const count of SUBSCRIBERS.filter((one) => !possible.includes(one))) {
  reportUnavailable(`${count} subscribers`, `the file limit is ${openFileLimit()}; run ulimit -n ${needed(count)}`);
}
const maxSubscribers = Math.max(...possible);
const possibleOnTwo = ON_TWO.filter((count) => openFileLimit() >= needed(count / 2));
for (const count of ON_TWO.filter((one) => !possibleOnTwo.includes(one))) {
  reportUnavailable(`${count} subscribers on two processes`, `the file limit is ${openFileLimit()}; run ulimit -n ${needed(count / 2)}`);
}
/** Values measured for our service, by name of the measurement. The values of other servers are compared with these values. */
const ours = new Map<string, number>();

try {
  if (possible.length > 0) {
    await measureOurs();
    await measurePeer(startBareStream);
    await measurePeer(startNchan);
  }
  if (possibleOnTwo.length > 0) await measureTwo();
} finally {
  subscribers.stop();
}

/** Measures another server for comparison, or reports that this server is not installed. */
async function measurePeer(start: () => Promise<Streamer | string>): Promise<void> {
  const streamer = await start();
  if (typeof streamer === 'string') return reportUnavailable('nchan', streamer);
  try {
    await measure(streamer, maxSubscribers);
  } finally {
    await streamer.stop();
  }
}

/** Signs wallets in for some subscribers of one process, because readers without a session may use a part of the streams only. @returns their cookies */
async function cookiesFor(system: System, count: number): Promise<string[]> {
  return (await signedInWallets(system, Math.ceil(count / STREAMS_PER_WALLET))).map(({ cookie }) => cookie);
}

/** Parses a list of numbers; an empty text is an empty list. */
function numbers(text: string): number[] {
  return text.split(',').filter(Boolean).map(Number);
}

async function measureOurs(): Promise<void> {
  const system = await startSystem({ durable: true, env: { NODE_OPTIONS: COLLECTOR_OPTIONS, SESSION_KEYS: SESSION_KEY } });
  const sender = await openContext(readConfig({ ...system.env }), 'bench');
  const pid = () => system.apis[0]?.pid ?? 0;
  const streamer: Streamer = {
    name: OURS,
    port: Number(new URL(system.urls[0] ?? '').port),
    path: STREAM_PATH,
    cookies: await cookiesFor(system, Math.max(maxSubscribers, WARMUP)),
    pid,
    bytes: () => collectedBytes(pid()),
    publish: publisherOf(sender),
    stop: async () => undefined,
  };
  try {
    for (const count of possible) {
      await system.apis[0]?.stop();
      await system.apis[0]?.start();
      await measure(streamer, count);
    }
    await open(streamer, maxSubscribers);
    await subscribers.send({ do: 'begin', seq: sent.seq });
    await subscribers.send({ do: 'kill', perSec: KILLS_PER_SEC });
    const sending = sent.send(streamer.publish, Math.max(...RATES), SECONDS);
    await sleep((SECONDS * 1_000) / 2);
    await system.apis[0]?.stop();
    await system.apis[0]?.start();
    await sending;
    await subscribers.send({ do: 'kill', perSec: 0 });
    const { connects, events, lost, duplicates, resets, open: left, lowestSeq } = await untilDelivered(subscribers, sent.seq, 60_000);
    const what = `${maxSubscribers} subscribers, ${KILLS_PER_SEC} cut a second, process replaced`;
    report(`${what}: reconnects`, connects, 'times');
    report(`${what}: messages`, events, '');
    report(`${what}: lost`, lost, '', { atMost: 0 });
    report(`${what}: duplicates`, duplicates, '', { atMost: 0 });
    report(`${what}: resets`, resets, '', { atMost: 0 });
    report(`${what}: not connected at the end`, maxSubscribers - left, '', { atMost: 0 });
    report(`${what}: behind at the end`, sent.seq - lowestSeq, 'events', { atMost: 0 });
    await subscribers.send({ do: 'close' });
  } finally {
    await sender.close();
    await system.stop();
  }
}

/** Returns a function that sends all texts in one transaction, so that the events keep the order of the texts. */
function publisherOf(sender: App): Streamer['publish'] {
  return (texts) =>
    sender.tx(async (tx) =>
      tx.emitAll(
        notification,
        texts.map((text) => ({ text })),
      ),
    );
}

/** Measures the delivery by two API processes, and by two processes of `bare-writer.ts`, each with half of the subscribers. */
async function measureTwo(): Promise<void> {
  const halves = [subscribers, startSubscribers()];
  try {
    const limits = await measureTwoWriters(halves);
    await measureTwoProcesses(halves, limits);
  } finally {
    halves[1]?.stop();
  }
}

/** Two servers that deliver the same events. */
interface TwoServers {
  readonly name: string;
  readonly servers: readonly Pick<Streamer, 'port' | 'path' | 'cookies' | 'pid'>[];
  /** Sends texts to the subscribers of both servers. */
  readonly publish: Streamer['publish'];
}

/** @returns the p99 latencies by number of subscribers, ms */
async function measureTwoWriters(halves: readonly Subscribers[]): Promise<Map<number, number>> {
  const writers = await Promise.all([startBareWriter(), startBareWriter()]);
  const publish: Streamer['publish'] = async (texts) => void (await Promise.all(writers.map((writer) => writer.publish(texts))));
  const limits = new Map<number, number>();
  try {
    for (const count of possibleOnTwo)
      limits.set(count, (await measureOnTwo({ name: 'two bare writers', servers: writers, publish }, halves, count)).p99);
  } finally {
    for (const writer of writers) await writer.stop();
  }
  return limits;
}

/** @param limits the p99 latencies of two bare writers by number of subscribers, ms */
async function measureTwoProcesses(halves: readonly Subscribers[], limits: ReadonlyMap<number, number>): Promise<void> {
  const system = await startSystem({ apis: 2, durable: true, env: { SESSION_KEYS: SESSION_KEY } });
  const sender = await openContext(readConfig({ ...system.env }), 'bench');
  try {
    const cookies = await cookiesFor(system, Math.max(...possibleOnTwo) / 2);
    const servers = system.apis.map(({ pid }, i) => ({
      port: Number(new URL(system.urls[i] ?? '').port),
      path: STREAM_PATH,
      cookies,
      pid: () => pid,
    }));
    for (const count of possibleOnTwo) {
      const target = TARGETS_ON_TWO[count];
      const { what, p99, open } = await measureOnTwo({ name: 'two processes', servers, publish: publisherOf(sender) }, halves, count, target);
      report(`${what}: p99, multiple of the p99 of two bare writers`, p99 / (limits.get(count) ?? Number.NaN), '×', { atMost: MAX_MULTIPLE });
      report(`${what}: disconnected`, count - open, '', { atMost: 0 });
    }
  } finally {
    await sender.close();
    await system.stop();
  }
}

/**
 * Measures the delivery by two servers, each with half of the subscribers, and reports the latencies of the half that received the events later.
 * @param count the number of all subscribers
 * @param target the maximum p99, ms
 * @returns the name of the measurement, the p99 in ms, and the number of subscribers that are still connected
 */
async function measureOnTwo(
  { name, servers, publish }: TwoServers,
  halves: readonly Subscribers[],
  count: number,
  target?: number,
): Promise<{ what: string; p99: number; open: number }> {
  const perSec = Math.max(...RATES);
  const what = `${name}, ${count} subscribers, ${perSec} events/s`;
  await Promise.all(
    halves.map(async (half, i) => {
      const { port = 0, path = '', cookies } = servers[i] ?? {};
      await half.send({ do: 'open', port, path, count: count / 2, cookies });
    }),
  );
  await sleep(SETTLE_MS);
  for (const half of halves) await half.send({ do: 'begin', seq: sent.seq });
  const cpu = () => servers.reduce((sum, { pid }) => sum + secondsOf(pid()), 0);
  const before = cpu();
  await sent.send(publish, perSec, SECONDS);
  const reports = await Promise.all(halves.map((half) => untilDelivered(half, sent.seq, 10_000)));
  const used = cpu() - before;
  const events = reports.reduce((sum, one) => sum + one.events - one.duplicates, 0);
  const p99 = Math.max(...reports.map((one) => one.p99));
  report(`${what}: p50`, Math.max(...reports.map((one) => one.p50)), 'ms');
  report(`${what}: p99`, p99, 'ms', target === undefined ? '' : { atMost: target });
  report(`${what}: CPU per message`, (1e6 * used) / events, 'µs');
  report(`${what}: messages per read`, events / reports.reduce((sum, { chunks }) => sum + chunks, 0), '');
  report(`${what}: not delivered`, count * perSec * SECONDS - events, '', { atMost: 0 });
  for (const half of halves) await half.send({ do: 'close' });
  await sleep(SETTLE_MS);
  return { what, p99, open: reports.reduce((sum, one) => sum + one.open, 0) };
}

async function open(streamer: Streamer, count: number): Promise<void> {
  await subscribers.send({ do: 'open', port: streamer.port, path: streamer.path, count, cookies: streamer.cookies });
}

/** Opens `count` subscribers, measures the memory per subscriber and the delivery of events, and closes the subscribers. */
async function measure(streamer: Streamer, count: number): Promise<void> {
  await open(streamer, WARMUP);
  await subscribers.send({ do: 'close' });
  const isOurs = streamer.name === OURS;
  const reportValue = (what: string, value: number, unit: string, limit?: Against) => {
    if (isOurs) ours.set(what, value);
    const own = ours.get(what);
    report(`${streamer.name}, ${what}`, value, unit, isOurs ? limit : own === undefined ? undefined : { peer: OURS, value: own });
  };
  // Measures memory with the second half of the subscribers, because the first half may reuse free memory of the process.
  await open(streamer, count / 2);
  await sleep(SETTLE_MS);
  const before = await streamer.bytes();
  await open(streamer, count / 2);
  await sleep(SETTLE_MS);
  const kb = ((await streamer.bytes()) - before) / (count / 2) / 1_024;
  if (count >= WARMUP) reportValue(`${count} subscribers: memory each`, kb, 'KB', { atMost: TARGET.kb });
  for (const perSec of RATES) {
    const what = `${count} subscribers, ${perSec} events/s`;
    await subscribers.send({ do: 'begin', seq: sent.seq });
    const cpu = secondsOf(streamer.pid());
    const began = performance.now();
    const [healthz] = await Promise.all([isOurs ? probe(streamer.port) : null, sent.send(streamer.publish, perSec, SECONDS)]);
    const { chunks, events, duplicates, p50, p99 } = await untilDelivered(subscribers, sent.seq, 10_000);
    const used = secondsOf(streamer.pid()) - cpu;
    reportValue(`${what}: p50`, p50, 'ms');
    reportValue(`${what}: p99`, p99, 'ms', { atMost: TARGET.p99 });
    reportValue(`${what}: CPU`, (100_000 * used) / (performance.now() - began), '%');
    reportValue(`${what}: CPU per message`, (1e6 * used) / events, 'µs');
    reportValue(`${what}: messages per read`, events / chunks, '');
    reportValue(`${what}: not delivered`, count * perSec * SECONDS - events + duplicates, '', { atMost: 0 });
    if (healthz !== null) report(`coinop, ${what}: p99 of /healthz`, healthz, 'ms');
  }
  await subscribers.send({ do: 'close' });
  await sleep(SETTLE_MS);
}

/** Sends requests to /healthz during one measurement and returns their p99 latency, ms. */
async function probe(port: number): Promise<number> {
  const times: number[] = [];
  for (const end = performance.now() + SECONDS * 1_000; performance.now() < end; await sleep(20)) {
    const began = performance.now();
    await (await fetch(`http://127.0.0.1:${port}/healthz`)).arrayBuffer();
    times.push(performance.now() - began);
  }
  return percentiles(times).p99;
}
