import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Browser, chromium, type Page } from 'playwright-core';
import { installedChromium } from '#dev/stack/chromium.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { openTlsSite, type TlsSite } from '#test/support/http/tls-site.ts';

let site: TlsSite;
let t: TestApp;
let browser: Browser;
let page: Page;
/** Errors of scripts, and violations of the Content-Security-Policy. */
const problems: string[] = [];
beforeAll(async () => {
  site = await openTlsSite();
  t = await startTestApp({ workers: false, env: { PUBLIC_URL: `https://arcade.test:${site.port}`, TRUST_PROXY: 'true' } });
  site.forwardTo(Number(new URL(t.url).port));
  // The sandbox of Chromium does not work for root.
  const chromiumSandbox = process.getuid?.() !== 0;
  browser = await chromium.launch({ executablePath: installedChromium(), chromiumSandbox, args: ['--host-resolver-rules=MAP *.test 127.0.0.1'] });
  page = await browser.newPage({ ignoreHTTPSErrors: true, viewport: { width: 1200, height: 2400 } });
  page.setDefaultTimeout(60_000);
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('status of 401')) problems.push(message.text());
  });
}, 180_000);
afterAll(async () => {
  await browser?.close();
  await t?.close();
  site?.close();
});

/** Opens the documentation at an operation. @param id tag and operation id */
async function openOperation(id: string): Promise<void> {
  await page.goto('about:blank');
  await page.goto(`${t.origin}/docs#/${id}`);
  await page.locator('.responses-wrapper').waitFor();
}
const shoot = async (name: string) => {
  if (process.env.SCREENSHOT) await page.screenshot({ path: `${process.env.SCREENSHOT}-${name}.png` });
};

test('the documentation signs a new wallet in, and its requests have the session', async () => {
  await openOperation('Sign-in/getMe');
  const bar = page.locator('#sign-in');
  await bar.getByText('not signed in').waitFor();
  await bar.getByRole('button', { name: 'Sign in with a new wallet' }).click();
  await bar.getByText('signed in as').waitFor();
  const wallet = /\w{32,44}$/.exec((await bar.locator('output').textContent()) ?? '')?.[0] ?? 'none';
  await page.getByRole('button', { name: 'Try it out' }).click();
  await page.getByRole('button', { name: 'Execute' }).click();
  await page.locator('.live-responses-table').getByText(wallet).waitFor();
  await shoot('me');
  await bar.getByRole('button', { name: 'Sign out' }).click();
  await bar.getByText('not signed in').waitFor();
});

test('the documentation describes each error once, and names the errors of an operation in one line each', async () => {
  await openOperation('Arcade/getGameByIdLeaderboard');
  const rows = page.locator('.responses-table:not(.live-responses-table) tr.response');
  const texts = await rows.allTextContents();
  const errors = texts.filter((text) => /^[45]/.test(text));
  expect(errors).toContain('404The resource does not exist.');
  expect(errors.every((text) => text.length < 100)).toBe(true);
  expect(await rows.locator('.example').count()).toBe(1);
  expect(await page.locator('.info td').getByText('The resource does not exist.').count()).toBe(1);
  await shoot('operation');
});

test('an operation with a path parameter works with the values that the documentation fills in', async () => {
  await openOperation('Arcade/getGameByIdStats');
  await page.getByRole('button', { name: 'Try it out' }).click();
  await page.getByRole('button', { name: 'Execute' }).click();
  expect(await page.locator('.live-responses-table .response-col_status').last().textContent()).toContain('200');
  await shoot('try');
});

test('no script of the documentation fails or violates the Content-Security-Policy', () => {
  expect(problems).toEqual([]);
});
