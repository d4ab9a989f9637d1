"""How the transformers library matches, puts together and applies ``tp_plan``s; vLLM's reading beside it."""
