import { createHash } from 'node:crypto';
import { type PublicKey, TransactionInstruction } from '@solana/web3.js';

/** Creates a pseudorandom generator; the seed determines all numbers. */
export function random(seed: string) {
  let count = 0;
  const below = (n: number): number => createHash('sha256').update(`${seed} ${count++}`).digest().readUIntBE(0, 6) % n;
  const one = <T>(list: readonly T[]): T => {
    const found = list[below(list.length)];
    if (found === undefined) throw new Error('the list is empty');
    return found;
  };
  return { below, one };
}
type Random = ReturnType<typeof random>;

/** Returns a copy of an instruction with one random change, which may make it invalid. */
export function damaged(instruction: TransactionInstruction, pool: readonly PublicKey[], { below, one }: Random): TransactionInstruction {
  const { programId } = instruction;
  const keys = instruction.keys.map((meta) => ({ ...meta }));
  let data = Buffer.from(instruction.data);
  const meta = one(keys);
  const deeds = [
    () => Object.assign(meta, { pubkey: one(pool) }),
    () => {
      const other = one(keys);
      [meta.pubkey, other.pubkey] = [other.pubkey, meta.pubkey];
    },
    () => Object.assign(meta, { isWritable: !meta.isWritable }),
    () => data.length > 0 && data.writeUInt8(data.readUInt8(0) ^ (1 << below(8)), 0),
    () => {
      const at = below(Math.max(1, data.length));
      if (data.length > 0) data.writeUInt8(below(256), at);
    },
    () => {
      data = data.subarray(0, below(data.length + 1));
    },
    () => {
      data = Buffer.concat([data, Buffer.alloc(one([1, 8, 32]), below(256))]);
    },
    () => keys.splice(below(keys.length), 1),
    () => keys.push({ ...one(keys) }),
    () => {
      data = Buffer.from([below(6), ...data.subarray(1)]);
    },
  ];
  one(deeds)();
  return new TransactionInstruction({ programId, keys, data });
}
