// The texts of limits, as the server's language of limits writes them: "10/s,burst=20,shadow".

// Whether a limit is on trial: it is counted, but never denies.
export function isShadow(limit) {
  return limit.split(',').slice(1).includes('shadow');
}

export function withShadow(limit) {
  return isShadow(limit) ? limit : `${limit},shadow`;
}

export function withoutShadow(limit) {
  return limit.split(',').filter((part, i) => i === 0 || part !== 'shadow').join(',');
}

// The label of a limit in statistics, if it has one.
export function labelOf(limit) {
  const part = limit.split(',').find((option) => option.startsWith('name='));
  return part ? part.slice('name='.length) : null;
}

// The limits in a text, one or more to a line.
export function limitsIn(text) {
  return text.split(/\s+/).filter((word) => word !== '');
}

// "@free#1" or "@free#1 label": the limit at that position of the policy; null for other names.
export function policyPosition(name) {
  const match = /^@([^#\s]+)#(\d+)/.exec(name);
  return match ? {policy: match[1], position: Number(match[2])} : null;
}
