// Ways to change the limits of a policy: a command, or a line of the policy file if that has it.
import {redisCli} from './command.js';

// A line of the policy file: free = ["10/s", "1000/h"].
export function policyLine(name, limits) {
  const key = /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
  return `${key} = [${limits.map((limit) => JSON.stringify(limit)).join(', ')}]`;
}

// What the rate_limit of a policy's rule says in the files of rls-config, which are read again when
// they change. Those of rls:inline are not there.
function ruleLine(name, limits) {
  return name === 'rls:inline' ? '# Each call brings its own number' :
    `limits: ${JSON.stringify(limits)}`;
}

// The file that a policy of /api/policies has to be changed in; null if a command changes it. A
// replica does not know its primary's file by name.
export function fileOf(policy) {
  return policy?.from_file && !policy.retired ? policy.file ?? 'the policy file' : null;
}

// The part of showChange()'s options that says what to type. `policy`: as it is now, or null.
export function waysToSet(name, limits, policy) {
  const file = fileOf(policy);
  if (file && name.startsWith('rls:')) return {file, line: ruleLine(name, limits)};
  return file ? {file, line: policyLine(name, limits), command: redisCli('RL.POLICY', 'RELOAD')}
    : {command: redisCli('RL.POLICY', 'SET', name, ...limits)};
}
