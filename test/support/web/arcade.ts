import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { installedChromium } from '#dev/stack/chromium.ts';
import { buildWeb } from '#packages/web/build.ts';
import { startRoundsTest } from '../areas/rounds.ts';
import type { RewardsTest } from '../solana/claims.ts';
import { type CuttableProxy, startProxy } from './cuttable-proxy.ts';
import { WALLET_SCRIPT } from './standard-wallet.ts';

/** Maximum time that a test waits for the page, ms, unless it says otherwise. */
const TIMEOUT_MS = 10_000;
const PICTURES = join(import.meta.dirname, '../../../.data/pictures');

/** The arcade page on a running application, and browsers that show it. */
export interface ArcadeTest extends RewardsTest {
  readonly page: string;
  readonly connection: CuttableProxy;
  /** Opens the browser of another visitor, who has a wallet. */
  openVisitor(options?: BrowserContextOptions): Promise<Visitor>;
}

/** A visitor: a browser of its own, with one tab. */
export interface Visitor {
  readonly tab: Page;
  /** What went wrong in the page so far: errors, messages of the console at level error, and violations of the Content-Security-Policy. */
  readonly faults: readonly string[];
  /** Opens a page of the arcade and waits until it is shown. */
  open(path: string): Promise<void>;
  signIn(): Promise<void>;
  /** Stores a picture of the page in `.data/pictures`. */
  shoot(name: string): Promise<void>;
  close(): Promise<void>;
}

/** Builds the arcade page, starts an application with a cluster, and Chromium. */
export async function startArcade(): Promise<ArcadeTest> {
  const connection = await startProxy();
  await buildWeb();
  const t = await startRoundsTest({ env: { PUBLIC_URL: connection.url, WEB: 'on' } });
  connection.lead({ port: Number(new URL(t.url).port) });
  // The sandbox of Chromium does not work for root.
  const browser = await chromium.launch({ executablePath: installedChromium(), chromiumSandbox: process.getuid?.() !== 0 });
  mkdirSync(PICTURES, { recursive: true });
  return {
    ...t,
    page: connection.url,
    connection,
    openVisitor: (options) => openVisitor(browser, connection.url, options),
    async close() {
      await browser.close();
      await connection.close();
      await t.close();
    },
  };
}

async function openVisitor(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visitor> {
  const context = await browser.newContext(options);
  await context.addInitScript(WALLET_SCRIPT);
  const tab = await context.newPage();
  tab.setDefaultTimeout(TIMEOUT_MS);
  const faults = collectFaults(tab);
  return {
    tab,
    faults,
    async open(path) {
      await tab.goto(url + path);
      await shown(tab).catch(async (error: unknown) => {
        throw new Error(`${path} is not shown. Faults: ${faults.join('; ')}. Content: ${await tab.locator('body').textContent()}`, { cause: error });
      });
    },
    async signIn() {
      await tab.getByRole('button', { name: 'Sign in' }).first().click();
      await tab.getByRole('button', { name: 'Test Wallet' }).click();
      await tab.getByRole('button', { name: 'Sign out' }).waitFor();
    },
    async shoot(name) {
      await tab.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
    },
    close: () => (context satisfies BrowserContext).close(),
  };
}

/** Waits until the script has replaced the HTML of the service and the module of the page is loaded. */
export const shown = (tab: Page): Promise<void> => tab.locator('main h1:visible').and(tab.locator('main:not(:has(.late)) h1')).first().waitFor();

/** Collects the faults of a page. Chromium reports each violation of the Content-Security-Policy as a message at level error. */
function collectFaults(tab: Page): string[] {
  const faults: string[] = [];
  tab.on('pageerror', (error) => faults.push(String(error.stack ?? error)));
  tab.on('console', (message) => {
    if (message.type() === 'error') faults.push(`${message.text()} (${message.location().url})`);
  });
  return faults;
}
