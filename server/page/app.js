// The live page.
"use strict";

async function show() {
  const response = await fetch("/api/policies");
  const state = document.getElementById("state");
  state.textContent = JSON.stringify(await response.json());
}

show();
