import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createServer } from 'node:http';
import Koa from 'koa';
import { z } from 'zod';
import { startKit } from './support/kit.ts';
import { reply, route } from '../src/http/route.ts';
const hello = route({ method: 'get', path: '/hello', auth: 'public', summary: 'Hello', returns: { 200: z.object({ hello: z.string(), n: z.int() }) }, fails: [], handler: async () => reply(200, { hello: 'world', n: 1 }) });
const others = Array.from({ length: 110 }, (_, i) => route({ method: 'get', path: `/area${i}/{id}/thing`, auth: 'public', summary: 'x', params: z.object({ id: z.string() }), returns: { 204: null }, fails: [], handler: async () => reply(204, null) }));
const kit = await startKit([...others, hello], { env: { NODE_ENV: 'production', SESSION_KEYS: 'k'.repeat(40), LOG_LEVEL: 'info' } });
const bare = createServer((_q, r) => { const t = JSON.stringify({ hello: 'world', n: 1 }); r.setHeader('Content-Type', 'application/json; charset=utf-8'); r.setHeader('Content-Length', Buffer.byteLength(t)); r.end(t); }).listen(0, '127.0.0.1');
const k = new Koa(); k.use(async (c) => { c.body = { hello: 'world', n: 1 }; });
const koa = createServer(k.callback()).listen(0, '127.0.0.1');

await new Promise((r) => setTimeout(r, 300));
const run = async (name, port, d, path = '/hello') => {
  const before = process.cpuUsage();
  const { stdout } = await promisify(execFile)('wrk', ['-t1', '-c50', `-d${d}`, `http://127.0.0.1:${port}${path}`]);
  const used = process.cpuUsage(before);
  const n = Number(/(\d+) requests in/.exec(stdout)[1]);
  return { name, us: (used.user + used.system) / n, rps: /Requests\/sec:\s+(.*)/.exec(stdout)[1] };
};
const list = [['bare', bare.address().port], ['koa', koa.address().port], ['kit', kit.port]];
for (const [n, port] of list) await run(n, port, 2);
const sums = {};
for (let i = 0; i < 3; i++) for (const [n, port] of list) { const r = await run(n, port, 3); (sums[n] ??= []).push(r.us); console.log(r.name, r.us.toFixed(1), 'us cpu/request', r.rps); }
console.log(Object.fromEntries(Object.entries(sums).map(([n, v]) => [n, Math.min(...v).toFixed(1)])));
bare.close(); koa.close(); await kit.close(); process.exit(0);
