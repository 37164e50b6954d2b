import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Browser, chromium } from 'playwright-core';
import { installedChromium } from '#dev/stack/chromium.ts';
import { verifyScore } from '#packages/verify/src/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { bundleForBrowsers } from '#test/support/verify/browser.ts';
import { listen } from '#test/support/verify/served-world.ts';

let t: TestApp;
let server: Server;
let page: string;
let browser: Browser;
beforeAll(async () => {
  const html = readFileSync('docs/examples/block-cascade.html');
  const verify = (await bundleForBrowsers()).outputFiles[0]?.text ?? '';
  server = createServer((request, response) => {
    const [type, content] = request.url === '/verify.js' ? ['text/javascript', verify] : ['text/html', html];
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(content);
  });
  page = await listen(server);
  t = await startTestApp({ env: { ALLOWED_ORIGINS: page } });
  // The sandbox of Chromium does not work for root.
  browser = await chromium.launch({ executablePath: installedChromium(), chromiumSandbox: process.getuid?.() !== 0 });
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await t?.close();
  server?.close();
});

test('a person plays Block Cascade in a browser, the score is accepted, and Node and a page of another origin compute it again', async () => {
  const tab = await browser.newPage();
  const errors: Error[] = [];
  tab.on('pageerror', (error) => errors.push(error));
  await tab.goto(`${page}/?api=${encodeURIComponent(t.url)}`);
  await tab.getByRole('button', { name: 'Play' }).click();
  await tab.getByText('Play!').waitFor();
  // Drops pieces in the middle of the board until it is full.
  const status = tab.getByRole('status');
  for (let i = 0; i < 300 && (await status.textContent()) === 'Play!'; i += 1) {
    await tab.keyboard.press(i % 3 === 0 ? 'ArrowLeft' : 'ArrowUp', { delay: 40 });
    await tab.keyboard.press('Space', { delay: 40 });
  }
  await tab.getByText(/is accepted/).waitFor({ timeout: 30_000 });
  const said = (await status.textContent()) ?? '';
  const scoreId = said.split(' ').at(-1) ?? '';
  expect(await tab.locator('#score').textContent()).toBe(/Score (\d+)/.exec(said)?.[1]);
  const options = { house: t.url, scoreId };
  const inNode = await verifyScore(options);
  expect(inNode).toMatchObject({ verdict: 'true', score: Number(/Score (\d+)/.exec(said)?.[1]) });
  expect(await tab.evaluate(`import('/verify.js').then(({ verifyScore }) => verifyScore(${JSON.stringify(options)}))`)).toEqual(inNode);
  expect(errors).toEqual([]);
  if (process.env.SCREENSHOT) await tab.screenshot({ path: process.env.SCREENSHOT });
}, 120_000);
