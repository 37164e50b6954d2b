import { setTimeout as sleep } from 'node:timers/promises';
import { notification } from '#areas/social/events.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import { anyPorts } from '#dev/stack/ports.ts';
import { startSystem } from '#dev/stack/system.ts';
import { openFileLimit } from '#lib/open-files.ts';
import { secondsOf } from './support/cpu.ts';
import { percentiles } from './support/load.ts';
import { collectedBytes } from './support/memory.ts';
import { type Against, cannot, report } from './support/report.ts';
import { type Streamer, startBareStream, startNchan } from './support/streams.ts';
import { mark, type Report, startSubscribers } from './support/subscribers.ts';

/**
 * The event stream with thousands of subscribers on one API process: memory, delivery from the call that commits an event to the subscriber,
 * and what is lost while connections are cut and the process is replaced. Beside it what node:http alone does, and nchan. One worker,
 * PostgreSQL, Redis, all subscribers and their senders on one machine.
 */
/** With few, delivery is the way to this process alone: commit, publication, feed. */
const SUBSCRIBERS = (process.env.BENCH_SUBSCRIBERS ?? '10,5000,10000').split(',').map(Number);
const RATES = (process.env.BENCH_RATES ?? '2,100').split(',').map(Number);
const SECONDS = Number(process.env.BENCH_SECONDS ?? 10);
const KILLS_PER_SEC = 200;
const TARGET = { kb: 20, p99: 200 };
const OURS = 'coinop';
const SETTLE_MS = 1_500;
/** Connections that open and close again before memory is looked at: what the first of them take, later ones use again. */
const WARMUP = 200;

const subscribers = startSubscribers();
let seq = 0;

// A process takes as many streams as leave it a quarter of its files.
const needed = (count: number) => Math.ceil(count / 0.75) + 100;
const possible = SUBSCRIBERS.filter((count) => openFileLimit() >= needed(count));
for (const count of SUBSCRIBERS.filter((one) => !possible.includes(one))) {
  cannot(`${count} subscribers`, `a process may open ${openFileLimit()} files here: ulimit -n ${needed(count)}`);
}
const most = Math.max(...possible);
/** What ours came to, by what was measured. */
const ours = new Map<string, number>();

try {
  if (possible.length > 0) {
    await measureOurs();
    await beside(startBareStream);
    await beside(startNchan);
  }
} finally {
  subscribers.stop();
}

/** Measures a peer, if it is here. */
async function beside(start: () => Promise<Streamer | string>): Promise<void> {
  const streamer = await start();
  if (typeof streamer === 'string') return cannot('nchan', streamer);
  try {
    await measure(streamer, most);
  } finally {
    await streamer.stop();
  }
}

async function measureOurs(): Promise<void> {
  const [inspectPort = 0] = await anyPorts(1);
  const system = await startSystem({ durable: true, env: { NODE_OPTIONS: `--inspect-port=${inspectPort}` } });
  const sender = await openContext(readConfig({ ...system.env }), 'bench');
  const pid = () => system.apis[0]?.pid ?? 0;
  const streamer: Streamer = {
    name: OURS,
    port: Number(new URL(system.urls[0] ?? '').port),
    path: '/events?categories=system',
    pid,
    bytes: () => collectedBytes(pid(), inspectPort),
    // One after another, so that the events' order is the senders'.
    publish: (texts) =>
      sender.tx(async (tx) =>
        tx.emitAll(
          notification,
          texts.map((text) => ({ text })),
        ),
      ),
    stop: async () => undefined,
  };
  try {
    for (const count of possible) {
      await system.apis[0]?.stop();
      await system.apis[0]?.start();
      await measure(streamer, count);
    }
    await open(streamer, most);
    await subscribers.ask({ do: 'begin', seq });
    await subscribers.ask({ do: 'kill', perSec: KILLS_PER_SEC });
    const sending = send(streamer, Math.max(...RATES));
    await sleep((SECONDS * 1_000) / 2);
    await system.apis[0]?.stop();
    await system.apis[0]?.start();
    await sending;
    await subscribers.ask({ do: 'kill', perSec: 0 });
    const { connects, events, lost, doubled, resets, open: left, least } = await everybodyHas(seq, 60_000);
    const what = `${most} subscribers, ${KILLS_PER_SEC} cut a second, process replaced`;
    report(`${what}: connected again`, connects, 'times');
    report(`${what}: messages`, events, '');
    report(`${what}: lost`, lost, '', { atMost: 0 });
    report(`${what}: twice`, doubled, '', { atMost: 0 });
    report(`${what}: resets`, resets, '', { atMost: 0 });
    report(`${what}: in the end not connected`, most - left, '', { atMost: 0 });
    report(`${what}: in the end behind`, seq - least, 'events', { atMost: 0 });
    await subscribers.ask({ do: 'close' });
  } finally {
    await sender.close();
    await system.stop();
  }
}

async function open(streamer: Streamer, count: number): Promise<void> {
  await subscribers.ask({ do: 'open', port: streamer.port, path: streamer.path, count });
}

/** Opens so many subscribers, sends them events, and lets them go. */
async function measure(streamer: Streamer, count: number): Promise<void> {
  await open(streamer, WARMUP);
  await subscribers.ask({ do: 'close' });
  const isOurs = streamer.name === OURS;
  const say = (what: string, value: number, unit: string, limit?: Against) => {
    if (isOurs) ours.set(what, value);
    const own = ours.get(what);
    report(`${streamer.name}, ${what}`, value, unit, isOurs ? limit : own === undefined ? undefined : { peer: OURS, value: own });
  };
  // The first half may find room in what a process had before: the second half says what one takes.
  await open(streamer, count / 2);
  await sleep(SETTLE_MS);
  const before = await streamer.bytes();
  await open(streamer, count / 2);
  await sleep(SETTLE_MS);
  const kb = ((await streamer.bytes()) - before) / (count / 2) / 1_024;
  if (count >= WARMUP) say(`${count} subscribers: memory each`, kb, 'KB', { atMost: TARGET.kb });
  for (const perSec of RATES) {
    const what = `${count} subscribers, ${perSec} events/s`;
    await subscribers.ask({ do: 'begin', seq });
    const cpu = secondsOf(streamer.pid());
    const began = performance.now();
    const [healthz] = await Promise.all([isOurs ? probe(streamer.port) : null, send(streamer, perSec)]);
    const { chunks, events, doubled, p50, p99 } = await everybodyHas(seq, 10_000);
    const used = secondsOf(streamer.pid()) - cpu;
    say(`${what}: p50`, p50, 'ms');
    say(`${what}: p99`, p99, 'ms', { atMost: TARGET.p99 });
    say(`${what}: CPU`, (100_000 * used) / (performance.now() - began), '%');
    say(`${what}: CPU of a message`, (1e6 * used) / events, 'µs');
    say(`${what}: messages in a read`, events / chunks, '');
    say(`${what}: not delivered`, count * perSec * SECONDS - events + doubled, '', { atMost: 0 });
    if (healthz !== null) report(`coinop, ${what}: p99 of /healthz meanwhile`, healthz, 'ms');
  }
  await subscribers.ask({ do: 'close' });
  await sleep(SETTLE_MS);
}

/** Sends events at a steady rate; what is overdue is sent together. */
async function send(streamer: Streamer, perSec: number): Promise<void> {
  const began = performance.now();
  for (let sent = 0; sent < SECONDS * perSec; ) {
    const due = Math.min(SECONDS * perSec, 1 + Math.floor(((performance.now() - began) * perSec) / 1_000));
    if (due > sent) await streamer.publish(Array.from({ length: due - sent }, () => mark(++seq)));
    else await sleep(Math.max(0, (1_000 * due) / perSec - (performance.now() - began)));
    sent = due;
  }
}

/** How long other requests take meanwhile: p99 in ms. */
async function probe(port: number): Promise<number> {
  const times: number[] = [];
  for (const end = performance.now() + SECONDS * 1_000; performance.now() < end; await sleep(20)) {
    const sent = performance.now();
    await (await fetch(`http://127.0.0.1:${port}/healthz`)).arrayBuffer();
    times.push(performance.now() - sent);
  }
  return percentiles(times).p99;
}

async function everybodyHas(event: number, withinMs: number): Promise<Report> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const report = await subscribers.ask({ do: 'report' });
    if (report.least >= event || performance.now() > deadline) return report;
    await sleep(200);
  }
}
