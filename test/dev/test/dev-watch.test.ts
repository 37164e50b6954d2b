import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from '@jest/globals';
import { SmallCheckout } from './small-checkout.ts';

const API = `import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { version } from "./version.ts";
writeFileSync('api.pid', String(process.pid));
createServer((_request, response) => response.end('ok')).listen(Number(process.env.PORT), () => console.log('api ' + version + ' runs'));
`;
const WORKER = `console.log('worker ' + process.pid + ' runs');\nsetInterval(() => {}, 1_000);\n`;

const WEB = `import { readFileSync } from 'node:fs';
console.log('page ' + readFileSync('packages/web/src/main.tsx', 'utf8') + ' is built');
`;

const checkout = new SmallCheckout(
  {
    'src/migrate.ts': `console.log('migrated');\n`,
    'src/server.ts': API,
    'src/version.ts': `export const version: string = 'one';\n`,
    'workers/main.ts': WORKER,
    'packages/web/build.ts': WEB,
    'packages/web/src/main.tsx': 'one',
  },
  ['src/platform', 'src/lib', 'programs'],
);
afterAll(() => checkout.remove());

/** With these variables, bin/dev starts no servers of its own. */
const elsewhere = {
  DATABASE_URL: 'postgresql://elsewhere/x',
  REDIS_URL: 'redis://elsewhere',
  SOLANA_RPC_URL: 'http://elsewhere',
  ADMIN_TOKENS: 'x'.repeat(20),
};

test('bin/dev --watch restarts only the process whose code changed, waits after a syntax error, and leaves no process after a SIGKILL', async () => {
  const dev = checkout.startCommand('bin/dev', ['--watch'], { ...elsewhere, COINOP_DATA: join(checkout.path, 'data') });
  await dev.printed('page one is built');
  await dev.printed('api one runs');
  await dev.printed('Ctrl-C stops everything');
  checkout.write('src/version.ts', `export const version: string = 'two';\n`);
  await dev.printed('api two runs');
  checkout.write('src/version.ts', `export const version: string = ;\n`);
  await dev.printed('Waiting for file changes before restarting');
  checkout.write('src/version.ts', `export const version: string = 'three';\n`);
  await dev.printed('api three runs');
  checkout.write('packages/web/src/main.tsx', 'two');
  await dev.printed('page two is built');
  const api = Number(readFileSync(join(checkout.path, 'api.pid'), 'utf8'));
  expect(isAlive(api)).toBe(true);
  dev.child.kill('SIGKILL');
  const { text } = await dev.done;
  expect(text.match(/worker \d+ runs/g)).toHaveLength(1);
  for (let tries = 0; tries < 100 && isAlive(api); tries++) await sleep(50);
  expect(isAlive(api)).toBe(false);
});

test('bin/dev names a port that is in use and exits with code 1', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const { code, text } = await checkout.startCommand('bin/dev', [], { ...elsewhere, PORT: String(port), COINOP_DATA: join(checkout.path, 'data') })
    .done;
  server.close();
  expect(text).toContain(`Port ${port} is in use`);
  expect(code).toBe(1);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
