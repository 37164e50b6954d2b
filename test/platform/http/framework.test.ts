import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApp, type TestApp } from '#test/support/app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp();
});
afterAll(() => t.close());

test('an unknown path gets a 404 with one sentence', async () => {
  const response = await fetch(`${t.url}/nowhere`);
  expect(response.status).toBe(404);
  expect(await response.json()).toEqual({ error: 'no such resource' });
});
