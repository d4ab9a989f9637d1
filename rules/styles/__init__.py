"""Rules on plans of styles: PyTorch's `parallelize_module` and Hugging Face's `tp_plan`."""
