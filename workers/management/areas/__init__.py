"""What operations are made of, one package for each thing that administrators work on."""
