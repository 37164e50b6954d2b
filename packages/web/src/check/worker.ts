import { type OnStep, verifyEpoch, verifyRound, verifyScore } from '../../../verify/src/index.ts';
import type { CheckMessage, CheckRequest, CheckResult } from './request.ts';

/** The web worker that checks, so that the page stays responsive. It answers one request. */
const send = (message: CheckMessage): void => postMessage(message);
const onStep: OnStep = (step) => send({ type: 'step', step });

async function check(request: CheckRequest): Promise<CheckResult> {
  const { kind, id, house } = request;
  if (kind === 'score') return { ...(await verifyScore({ house, scoreId: id, onStep })), isDevelopment: false, drawn: null };
  const { rpc, pins } = request;
  if (kind === 'epoch') return { ...(await verifyEpoch({ house, epoch: Number(id), rpc, pins, onStep })), isDevelopment: false, drawn: null };
  const { beacons, development, receipts } = request;
  const { verdict, steps, onTheHousesWord, isDevelopment, result } = await verifyRound({
    ...{ round: id, house, rpc, pins, development, receipts, onStep },
    beacon: beacons ?? undefined,
  });
  return { verdict, steps, onTheHousesWord, isDevelopment, drawn: result };
}

addEventListener('message', ({ data }: MessageEvent<CheckRequest>) => {
  check(data).then(
    (result) => send({ type: 'result', result }),
    (error: unknown) => send({ type: 'fault', message: error instanceof Error ? error.message : String(error) }),
  );
});
